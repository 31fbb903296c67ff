import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createHarness } from "./support/harness.ts";

const API_KEY = "CHECKOUT_SANDBOX_API_KEY";
const SECRET = "CHECKOUT_SANDBOX_SIGNING_SECRET";
const CONTROL = "CHECKOUT_SANDBOX_CONTROL_TOKEN";
const ADMIN = "CHECKOUT_SANDBOX_ADMIN_TOKEN";
type Variables = Readonly<Record<typeof API_KEY | typeof SECRET | typeof CONTROL | typeof ADMIN, string>>;

type KeysHarness = ReturnType<typeof createHarness>;

/** Secrets as `checkout keys generate` makes them, by their variables. */
async function generated(harness: KeysHarness): Promise<Variables> {
  const { code, stdout } = await harness.run(["keys", "generate"]);
  expect(code).toBe(0);
  return Object.fromEntries(
    stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split("=")),
  ) as Variables;
}

test("what keys generate makes is taken by a start, and is what the shop and the commands use", async () => {
  const harness = createHarness();
  const env = await generated(harness);
  expect(Object.keys(env)).toEqual([API_KEY, SECRET, CONTROL, ADMIN]);
  const again = JSON.parse((await harness.run(["keys", "generate", "--json"])).stdout) as object;
  expect(Object.keys(again)).toEqual(["api_key", "signing_secret", "control_token", "admin_token"]);
  expect(Object.values(again).filter((value) => Object.values(env).includes(String(value)))).toEqual([]);
  const first = await harness.start([], { env });
  expect([first.ready.api_key, first.ready.signing_secret]).toEqual([env[API_KEY], env[SECRET]]);
  const order = "orders create --order-id o-1 --price-id price_coffee --json".split(" ");
  expect((await harness.run(order)).code).toBe(0);
  expect((await harness.run(["admin", "log"])).code).toBe(0);
  const control = { path: "/__sandbox/stores/default/clock" };
  const bearer = { Authorization: `Bearer ${env[CONTROL]}` };
  expect((await first.request({ ...control, headers: bearer })).status).toBe(200);
  await first.stop();
  // The same ones are fine at every later start, and so are none.
  for (const later of [env, {}]) {
    const sandbox = await harness.start([], { env: later });
    expect(sandbox.ready.api_key).toBe(env[API_KEY]);
    await sandbox.stop();
  }
});

test("given secrets are in no log, no banner and no file but those that hold them", async () => {
  const harness = createHarness();
  const env = await generated(harness);
  const sandbox = await harness.launch(["sandbox", "start"], { env });
  await harness.run(["orders", "create", "--order-id", "o-1", "--price-id", "price_coffee"]);
  const { stdout, stderr } = await sandbox.stop();
  expect(stdout).toContain(API_KEY);
  const folder = join(harness.cwd, ".checkout");
  for (const secret of Object.values(env)) {
    expect(`${stdout}${stderr}`).not.toContain(secret);
    const holders = readdirSync(folder).filter((name) => readFileSync(join(folder, name)).includes(secret));
    expect(["credentials.json", "admin.json", ""]).toContain(holders.join());
  }
});

test("each secret comes from a file as well, without the line break at its end", async () => {
  const harness = createHarness();
  const env = await generated(harness);
  const files = Object.entries(env).map(([name, value], at) => {
    writeFileSync(join(harness.cwd, name), `${value}${["", "\n", "\r\n"][at % 3]}`);
    return [`${name}_FILE`, name] as const;
  });
  const sandbox = await harness.start([], { env: Object.fromEntries(files) });
  expect([sandbox.ready.api_key, sandbox.ready.signing_secret]).toEqual([env[API_KEY], env[SECRET]]);
  expect(harness.readState("run.json")).toContain(env[CONTROL]);
  expect(harness.readState("admin.json")).toContain(env[ADMIN]);
});

test("what cannot be a secret of its kind is refused by its variable, is not repeated, and makes nothing", async () => {
  const harness = createHarness();
  const good = await generated(harness);
  const folder = mkdirSync(join(harness.cwd, "a-folder"), { recursive: true }) ?? "";
  writeFileSync(join(harness.cwd, "empty"), "\n");
  writeFileSync(join(harness.cwd, "closed"), "x");
  chmodSync(join(harness.cwd, "closed"), 0o600);
  const mistyped = good[API_KEY].replace(/.$/, (last) => (last === "0" ? "1" : "0"));
  const wrong: readonly (readonly [Record<string, string>, string, string])[] = [
    [{ [API_KEY]: mistyped }, API_KEY, mistyped],
    [{ [API_KEY]: good[API_KEY].replace("test", "live") }, API_KEY, good[API_KEY].slice(12)],
    [{ [API_KEY]: ` ${good[API_KEY]}` }, API_KEY, good[API_KEY]],
    [{ [SECRET]: "whsec_tooshort" }, SECRET, "tooshort"],
    [{ [SECRET]: good[API_KEY] }, SECRET, good[API_KEY]],
    [{ [CONTROL]: "short-control" }, CONTROL, "short-control"],
    [{ [ADMIN]: "with a blank in it" }, ADMIN, "with a blank"],
    [{ [ADMIN]: good[CONTROL], [CONTROL]: good[CONTROL] }, ADMIN, good[CONTROL]],
    [{ [API_KEY]: good[API_KEY], [`${API_KEY}_FILE`]: "empty" }, `${API_KEY}_FILE`, good[API_KEY]],
    [{ [`${API_KEY}_FILE`]: "nowhere" }, `${API_KEY}_FILE`, "\0"],
    [{ [`${SECRET}_FILE`]: "empty" }, `${SECRET}_FILE`, "\0"],
    [{ [`${CONTROL}_FILE`]: folder }, `${CONTROL}_FILE`, "\0"],
  ];
  for (const [env, named, secret] of wrong) {
    for (const place of [[], ["--ephemeral"]]) {
      const { code, stdout, stderr } = await harness.run(["sandbox", "start", "--json", ...place], { env });
      expect([env, code, stdout]).toEqual([env, 2, ""]);
      expect(stderr).toContain(named);
      expect(stderr).not.toContain(secret);
    }
  }
  expect(readdirSync(harness.cwd)).not.toContain("sandbox.db");
});

test("another secret than the store has is refused with its variable, and changes nothing", async () => {
  const harness = createHarness();
  const before = await generated(harness);
  await (await harness.start([], { env: before })).stop();
  const other = await generated(harness);
  for (const name of [API_KEY, SECRET, ADMIN] as const) {
    const env = { ...before, [name]: other[name] };
    const { code, stderr } = await harness.run(["sandbox", "start", "--json"], { env });
    expect([name, code]).toEqual([name, 2]);
    expect(stderr).toContain(`${name} gives another`);
    expect(stderr).not.toContain(other[name]);
  }
  // A control token is that of one run.
  const sandbox = await harness.start([], { env: { ...before, [CONTROL]: other[CONTROL] } });
  expect([sandbox.ready.api_key, sandbox.ready.signing_secret]).toEqual([before[API_KEY], before[SECRET]]);
});
