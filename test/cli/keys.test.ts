import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { API_KEY_RANDOM_BYTES, formatTestKey, hashKey } from "../../src/core/credential.ts";
import { createHarness } from "../support/harness.ts";
import { insertion } from "../support/rows.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { hintForIds } from "../../src/cli/target/ids.ts";
import { inOrder } from "../support/in-order.ts";

const API_KEY = "CHECKOUT_SANDBOX_API_KEY";
const SECRET = "CHECKOUT_SANDBOX_SIGNING_SECRET";
const CONTROL = "CHECKOUT_SANDBOX_CONTROL_TOKEN";
const ADMIN = "CHECKOUT_SANDBOX_ADMIN_TOKEN";
type Variables = Readonly<Record<typeof API_KEY | typeof SECRET | typeof CONTROL | typeof ADMIN, string>>;

type KeysHarness = ReturnType<typeof createHarness>;

/** The secrets that `checkout keys generate` prints, by variable. */
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

test("sandbox start takes the secrets of keys generate, and commands and later starts use them", async () => {
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
  for (const later of [env, {}]) {
    const sandbox = await harness.start([], { env: later });
    expect(sandbox.ready.api_key).toBe(env[API_KEY]);
    await sandbox.stop();
  }
});

test("secrets that sandbox start was given are in no output, and after a stop in no file except credentials.json and admin.json", async () => {
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

test("each secret can come from a file, whose final line break is ignored", async () => {
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

test("a start with a malformed secret names the secret's variable, not the secret, and creates no state folder", async () => {
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
  expect(readdirSync(harness.cwd).toSorted()).toEqual(["a-folder", "closed", "empty"]);
});

test("a start with a secret that differs from the store's secret names the variable, not the secret, and changes no secret", async () => {
  const harness = createHarness();
  const before = await generated(harness);
  await (await harness.start([], { env: before })).stop();
  const other = await generated(harness);
  for (const name of [API_KEY, SECRET, ADMIN] as const) {
    const env = { ...before, [name]: other[name] };
    const { code, stderr } = await harness.run(["sandbox", "start", "--json"], { env });
    expect([name, code]).toEqual([name, 2]);
    expect(stderr).toMatch(new RegExp(`"message":"${name} `));
    expect(stderr).not.toContain(other[name]);
  }
  // A control token belongs to one run and may differ.
  const sandbox = await harness.start([], { env: { ...before, [CONTROL]: other[CONTROL] } });
  expect([sandbox.ready.api_key, sandbox.ready.signing_secret]).toEqual([before[API_KEY], before[SECRET]]);
});

/** Starts a sandbox; returns functions that run commands and that call v1 with a given key. */
async function openShop() {
  const harness = createHarness();
  const sandbox = await harness.start();
  const type = async (line: string) => {
    const { code, stdout, stderr } = await harness.run([...line.split(" "), "--json"]);
    return { code, said: JSON.parse(stdout || stderr) as Record<string, never> };
  };
  const make = async (scopes = ""): Promise<{ readonly id: string; readonly apiKey: string }> => {
    const { said } = await type(`keys create${scopes === "" ? "" : ` --scopes ${scopes}`}`);
    return { id: String(said["key_id"]), apiKey: String(said["api_key"]) };
  };
  let orders = 0;
  const asked = async (apiKey: string, what: "orders" | "checkout-sessions" | "get"): Promise<string> => {
    const key = `a-purchase-${(orders += 1)}`;
    const create = {
      method: "POST",
      path: `/v1/${what}`,
      headers: { "Content-Type": "application/json", "Idempotency-Key": key },
      body: JSON.stringify({ order_id: key, price_id: "price_coffee" }),
    };
    const get = { path: "/v1/checkout-sessions/0199a3c4-5d00-7000-8000-000000000001", headers: {} };
    const call = what === "get" ? get : create;
    const headers = { ...call.headers, Authorization: `Bearer ${apiKey}` };
    const { status, body } = await sandbox.request({ ...call, headers });
    const { error } = JSON.parse(String(body)) as { readonly error?: { readonly code: string } };
    return `${status} ${error?.code ?? ""}`.trim();
  };
  return { harness, sandbox, type, make, asked };
}

const NO_SUCH_SESSION = "404 session_not_found";
const ALL_SCOPES = ["orders:write", "checkout_sessions:write", "checkout_sessions:read"];

test("an API key permits exactly the requests of its scopes", async () => {
  const { make, asked } = await openShop();
  const ways = { orders: "201", "checkout-sessions": "201", get: NO_SUCH_SESSION } as const;
  const scopeOf = { orders: ALL_SCOPES[0], "checkout-sessions": ALL_SCOPES[1], get: ALL_SCOPES[2] } as const;
  for (const scopes of [
    "",
    ...ALL_SCOPES,
    "checkout_sessions:read,orders:write",
    ALL_SCOPES.toReversed().join(),
  ]) {
    const { apiKey } = await make(scopes);
    for (const way of ["orders", "checkout-sessions", "get"] as const) {
      const may = scopes === "" || scopes.split(",").includes(scopeOf[way] ?? "");
      expect([scopes, way, await asked(apiKey, way)]).toEqual([
        scopes,
        way,
        may ? ways[way] : "403 scope_missing",
      ]);
    }
  }
});

test("a new API key is shown once, and is in no file, list or log", async () => {
  const { harness, sandbox, type } = await openShop();
  const { code, said } = await type("keys create --scopes orders:write,checkout_sessions:read,orders:write");
  const apiKey = String(said["api_key"]);
  expect([code, said]).toEqual([
    0,
    {
      key_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      api_key: expect.stringMatching(/^svc_test_[0-9A-Za-z]{33}$/) as string,
      last_four: apiKey.slice(-4),
      scopes: ["orders:write", "checkout_sessions:read"],
    },
  ]);
  const listed = await type("keys list");
  expect(listed.said).toMatchObject({
    store_id: sandbox.ready.store_id,
    kept_key_id: listed.said["keys"]?.[0]?.["key_id"],
    keys: [
      { last_four: sandbox.ready.api_key?.slice(-4), scopes: ALL_SCOPES, revoked_at: null },
      { key_id: said["key_id"], scopes: ["orders:write", "checkout_sessions:read"], revoked_at: null },
    ],
  });
  const shown = (await harness.run(["keys", "list"], { columns: 140 })).stdout.split("\n");
  expect(shown[1]).toMatch(/ – +credentials\.json$/);
  expect(shown[2]).toMatch(/Z +– +–$/);
  const told = [JSON.stringify(listed.said), (await harness.run(["stores", "show", "--json"])).stdout];
  const { stdout, stderr } = await sandbox.stop();
  const folder = join(harness.cwd, ".checkout");
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), "latin1"));
  for (const text of [...told, ...files, stdout, stderr]) expect(text).not.toContain(apiKey.slice(9, 36));
});

test("keys revoke revokes only the given key, immediately and permanently", async () => {
  const { harness, sandbox, type, make, asked } = await openShop();
  const own = sandbox.ready.api_key ?? "";
  const [one, other] = [await make(), await make()];
  for (const key of [own, one.apiKey, other.apiKey]) expect(await asked(key, "get")).toBe(NO_SUCH_SESSION);
  const revoked = await type(`keys revoke ${one.id.toUpperCase()}`);
  expect(await asked(one.apiKey, "get")).toBe("401 credential_invalid");
  expect(await asked(one.apiKey, "orders")).toBe("401 credential_invalid");
  for (const key of [own, other.apiKey]) expect(await asked(key, "get")).toBe(NO_SUCH_SESSION);
  expect([revoked.code, revoked.said]).toMatchObject([0, { key_id: one.id, keys_left: 2, kept: false }]);
  harness.clock.advance(60_000);
  expect(await type(`keys revoke ${one.id}`)).toEqual(revoked);
  await sandbox.stop();
  const later = await harness.start();
  const headers = { Authorization: `Bearer ${one.apiKey}` };
  expect((await later.request({ path: "/v1/checkout-sessions/x", headers })).status).toBe(401);
});

test("the folder's key and the last key of a store can be revoked, with a warning", async () => {
  const { harness, sandbox, type, make, asked } = await openShop();
  const { said } = await type("keys list");
  const kept = String(said["kept_key_id"]);
  const text = await harness.run(["keys", "revoke", kept]);
  expect(text.stdout).toMatch(inOrder("credentials.json", ": checkout keys create\n"));
  expect((await type(`keys revoke ${kept}`)).said).toMatchObject({ kept: true, keys_left: 0 });
  expect(await asked(sandbox.ready.api_key ?? "", "orders")).toBe("401 credential_invalid");
  const create = "orders create --order-id o-1 --price-id price_coffee".split(" ");
  expect((await harness.run(create)).code).toBe(4);
  const { apiKey } = await make();
  expect((await harness.run(create, { env: { CHECKOUT_API_KEY: apiKey } })).code).toBe(0);
});

test("env leaves out the folder's revoked key and says why", async () => {
  const { harness, sandbox, make } = await openShop();
  await make();
  const other = JSON.parse((await harness.run(["stores", "create", "--name", "Tea", "--json"])).stdout) as {
    readonly api_key: string;
  };
  for (const [key, words] of [
    [sandbox.ready.api_key ?? "", []],
    [other.api_key, ["--store", "Tea"]],
  ] as const) {
    const env = ["env", "--format", "json", ...words];
    expect(JSON.parse((await harness.run(env)).stdout)).toMatchObject({ CHECKOUT_API_KEY: key });
    const kept = JSON.parse((await harness.run(["keys", "list", "--json", ...words])).stdout) as {
      readonly kept_key_id: string;
    };
    expect((await harness.run(["keys", "revoke", kept.kept_key_id, ...words])).code).toBe(0);
    const { code, stdout, stderr } = await harness.run(env);
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(inOrder("CHECKOUT_API_KEY", ": checkout keys create")),
    ]);
    expect(Object.keys(JSON.parse(stdout) as object)).toEqual([
      "CHECKOUT_BASE_URL",
      "CHECKOUT_STORE_ID",
      "CHECKOUT_SIGNING_SECRET",
    ]);
  }
});

test("config diff and config apply refuse a configuration file with a revoked key", async () => {
  const { harness, sandbox, make, type } = await openShop();
  const { id, apiKey } = await make();
  const { store_id: storeId, store_name: name } = sandbox.ready;
  const stores = [{ id: storeId, name, api_keys: [{ env: "SHOP_KEY" }] }];
  writeFileSync(join(harness.cwd, "checkout.config.json"), JSON.stringify({ stores }));
  const config = async (verb: string) => {
    const { code, stdout, stderr } = await harness.run(["config", verb, "--json"], {
      env: { SHOP_KEY: apiKey },
    });
    return { code, said: JSON.parse(stdout || stderr) as object };
  };
  const kept = expect.arrayContaining([
    expect.objectContaining({ action: "keep", kind: "api_key" }),
  ]) as object;
  expect(await config("diff")).toMatchObject({ code: 0, said: { same: true, changes: kept } });
  expect((await type(`keys revoke ${id}`)).code).toBe(0);
  const message = expect.stringMatching(refusalText("key_revoked")) as string;
  const refused = { code: 1, said: { field: "stores[0].api_keys[0]", error: { message } } };
  for (const verb of ["diff", "apply"]) expect([verb, await config(verb)]).toMatchObject([verb, refused]);
});

test("without --store, orders list shows the orders of the key's store, and refuses the key of another sandbox", async () => {
  const { harness } = await openShop();
  await harness.run(["stores", "create", "--name", "Tea"]);
  const create = "orders create --order-id tea-1 --price-id price_coffee --store Tea".split(" ");
  expect((await harness.run(create)).code).toBe(0);
  const made = await harness.run(["keys", "create", "--store", "Tea", "--json"]);
  const unkept = (JSON.parse(made.stdout) as { readonly api_key: string }).api_key;
  const foreign = formatTestKey(new Uint8Array(API_KEY_RANDOM_BYTES).fill(7));
  const list = async (apiKey: string, ...words: readonly string[]) =>
    harness.run([...words, "--json"], { env: { CHECKOUT_API_KEY: apiKey } });
  const own = await list(unkept, "orders", "list");
  expect(JSON.parse(own.stdout)).toMatchObject({ checkouts: [{ order_id: "tea-1" }] });
  for (const words of [
    ["orders", "list"],
    ["sessions", "list"],
    ["orders", "get", "0199a3c4-5d00-7000-8000-000000000001"],
  ]) {
    const { code, stdout, stderr } = await list(foreign, ...words);
    expect([words, code, stdout]).toEqual([words, 4, ""]);
    expect(stderr).toMatch(
      inOrder('"credential_invalid"', `CHECKOUT_API_KEY (svc_test_…${foreign.slice(-4)})`),
    );
    expect(stderr).not.toContain(foreign);
  }
  const named = await list(foreign, "orders", "list", "--store", "Tea");
  expect(JSON.parse(named.stdout)).toMatchObject({ checkouts: [{ order_id: "tea-1" }] });
});

test("an API key that a killed drill left behind is not listed and cannot be revoked, and does not work after the next start", async () => {
  const { harness, sandbox, type } = await openShop();
  const apiKey = "svc_test_0000000000000000000000000000000ab";
  const id = "0199a3c4-5d00-7000-8000-00000000000f";
  const UNKNOWN = "0199a3c4-5d00-7000-8000-000000000001";
  await sandbox.stop();
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"));
  const row = { id, store_id: sandbox.ready.store_id, key_hash: hashKey(apiKey), for_drill: 1 };
  database.exec(insertion("credentials", row));
  database.close();
  const started = await harness.start();
  const { status } = await started.request({
    path: `/v1/checkout-sessions/${id}`,
    method: "GET",
    headers: { Authorization: `Bearer ${apiKey}` },
  });
  expect(status).toBe(401);
  expect((await type("keys list")).said["keys"]).toHaveLength(1);
  const rows = [
    [`keys revoke ${id}`, 1, refusalText("no_key", { id }), hintForIds("key")],
    [`keys revoke ${UNKNOWN}`, 1, refusalText("no_key", { id: UNKNOWN }), "checkout keys list"],
    ["keys revoke abcd", 2, /"abcd"/, "checkout keys list"],
    ["keys create --scopes orders:read", 2, inOrder("orders:write", "checkout_sessions:write"), ""],
    ["keys create --scopes orders:write,", 2, /checkout_sessions:read/, ""],
  ] as const;
  for (const [line, code, message, next] of rows) {
    const { stderr, ...result } = await harness.run(line.split(" "));
    expect([line, result.code]).toEqual([line, code]);
    expect(stderr).toMatch(message);
    expect(stderr).toContain(next);
  }
});

test("text output in CI has no secrets, and names the command that prints them", async () => {
  const harness = createHarness();
  const made: Record<string, unknown>[] = [];
  const json = async (line: string): Promise<string> => {
    const { stdout } = await harness.run([...line.split(" "), "--json"], { env: { CI: "true" } });
    made.push(JSON.parse(stdout) as Record<string, unknown>);
    return stdout;
  };
  const lines = [
    "sandbox start --detach --reuse",
    "endpoints add http://localhost:3001/hooks",
    "stores create --name Tea",
  ];
  await json("sandbox start --detach");
  const id = (JSON.parse(await json("endpoints add http://localhost:3000/hooks")) as { id: string }).id;
  lines.push(`endpoints rotate-secret ${id}`);
  const secret = /svc_(?:test|control|admin)_|whsec_|\/portal\/k-/;
  for (const line of lines) {
    const log = await harness.run(line.split(" "), { env: { CI: "true" } });
    expect([line, log.code, secret.test(log.stdout + log.stderr)]).toEqual([line, 0, false]);
    expect(log.stdout).toMatch(/\bCI\b.*checkout (?:env|endpoints secret)\b/);
  }
  for (const options of [{ terminal: true, env: { CI: "true" } }, { env: { CI: "false" } }, {}]) {
    const shown = await harness.run("sandbox start --reuse --detach".split(" "), options);
    expect([options, secret.test(shown.stdout)]).toEqual([options, true]);
  }
  for (const line of ["env", `endpoints secret ${id}`, "env --store Tea"]) {
    const printed = await harness.run(line.split(" "), { env: { CI: "true" } });
    expect([line, secret.test(printed.stdout)]).toEqual([line, true]);
  }
  expect(made).toMatchObject([
    { control_token: expect.stringMatching(secret) },
    { signing_secret: expect.stringMatching(secret) },
  ]);
  await harness.run(["sandbox", "stop"]);
});
