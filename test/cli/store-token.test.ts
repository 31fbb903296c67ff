import { PassThrough } from "node:stream";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { describedShop } from "../support/described-shop.ts";
import { createHarness, type RunningSandbox } from "../support/harness.ts";
import { openTeam } from "../support/team.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { inOrder } from "../support/in-order.ts";
import { refusalMessage } from "../support/refusal-texts.ts";

test("a store's token works from another machine, only for that store", async () => {
  const { owner, site, bob, store, made, run, type, sent } = await openTeam("store");
  await run(`orders create --order-id order-1 --price-id price_coffee --store ${store}`);
  for (const line of [
    "faults add drop --nth 1000",
    "sandbox clock freeze",
    "endpoints add http://localhost:3000/hooks",
    "endpoints list",
    "trigger order.succeeded",
    "trigger checkout_session.expired",
    "trigger order.cancelled --order-id order-9",
    "sandbox pay order-1",
    "explain order-1",
    "deliveries retry",
    "faults clear",
    "events list",
    "requests list",
    "deliveries list",
    "snapshots create mine",
    "snapshots restore mine",
    "snapshots list",
    "checklist --json",
    "stores list",
  ]) {
    const { code, stderr } = await type(line);
    expect([line, line.startsWith("checklist") ? 0 : code, stderr.includes("✗")]).toEqual([line, 0, false]);
  }
  const listed = JSON.parse((await type("stores list --json")).stdout) as { stores: { store_id: string }[] };
  expect(listed.stores.map(({ store_id: id }) => id)).toEqual([bob["store_id"]]);
  const settings = JSON.parse((await type("whoami --json")).stdout) as { [key: string]: { value: string } };
  expect([settings["role"]?.value, settings["role_store_id"]?.value]).toEqual(["store", bob["store_id"]]);
  expect(settings["role_expires_at"]?.value).toBe(made["expires_at"]);
  for (const line of [
    `faults list --store ${site.sandbox.ready.store_id}`,
    "stores create --name Eve",
    "tokens list",
    "snapshots restore mine --adopt",
    "config export",
  ])
    expect([line, (await type(line)).code > 0]).toEqual([line, true]);
  // `trigger` with an order_id creates its order through v1, with a key that ends with the command.
  const isKey = expect.stringMatching(/^Bearer svc_(?!store_)/) as string;
  expect([...new Set(sent)]).toEqual([`Bearer ${made["token"] ?? ""}`, isKey]);
  expect((await owner.run(["faults", "list", "--json"])).stdout).toContain('"faults":[]');
});

test("a viewer's token reads from another machine, and changes nothing; an owner's token never leaves its machine", async () => {
  const { site, type, sent } = await openTeam("viewer");
  expect((await type("events list")).code).toBe(0);
  for (const line of ["sandbox clock freeze", "faults clear", "keys list", "env"])
    expect([line, (await type(line)).code > 0]).toEqual([line, true]);
  const before = sent.length;
  const refused = await type("events list", { CHECKOUT_CONTROL_TOKEN: site.sandbox.ready.control_token });
  expect([refused.code, refused.stderr, sent.length]).toEqual([
    2,
    expect.stringContaining("checkout tokens create"),
    before,
  ]);
});

test("events list --wait ends soon after its token is revoked", async () => {
  const { owner, type, revoke } = await openTeam("viewer");
  const waiting = type("events list --wait --timeout 20s --since 0");
  await revoke();
  owner.clock.advance(2000);
  const { code, stderr } = await waiting;
  expect([code, stderr]).toEqual([4, expect.stringContaining(refusalMessage("token_ended"))]);
});

test("a store's token is sent only to the address in CHECKOUT_BASE_URL, with a warning if the connection is not encrypted", async () => {
  const { type, sent } = await openTeam("store");
  const elsewhere = await type("whoami --base-url https://other.example/v1");
  expect([elsewhere.code, elsewhere.stderr]).toEqual([
    2,
    expect.stringMatching(
      inOrder(" https://box.example/v1 (CHECKOUT_BASE_URL)", " https://other.example/v1\n"),
    ),
  ]);
  expect(sent).toEqual([]);
  const plain = await type("events list", { CHECKOUT_BASE_URL: "http://box.example/v1" });
  expect([plain.code, plain.stderr]).toEqual([
    0,
    expect.stringMatching(/^.* http:\/\/box\.example\/v1 .*\n/),
  ]);
});

test("MCP tools act on a store from another machine, with the token of the store", async () => {
  const { colleague, env, run, store } = await openTeam("store");
  const stdin = new PassThrough();
  const clientInfo = { name: "test", version: "1" };
  const calls = [
    ["initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo }],
    ["tools/call", { name: "list", arguments: { what: "events" } }],
    ["tools/call", { name: "fault", arguments: { action: "drop", event: "order.expired" } }],
  ] as const;
  for (const [id, [method, params]] of calls.entries())
    stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  const serving = await colleague.launch(["mcp", "--allow-write"], { env, world: { stdin: () => stdin } });
  const answers = await eventually("both tools have answered", () => {
    const lines = serving.text().stdout.trim().split("\n");
    expect(lines).toHaveLength(calls.length);
    return lines.map(
      (line) => JSON.parse(line) as { readonly id: number; readonly result: { readonly isError?: boolean } },
    );
  });
  expect(answers.map(({ result }) => result.isError)).toEqual([undefined, false, false]);
  expect(JSON.stringify(answers[1])).toContain(store);
  expect(await run(`faults list --store ${store}`)).toContain("order.expired");
  stdin.end();
  await serving.ended;
});

test("checklist run judges a shop with only a store's token, and the shop's commands get a key that is revoked after the run", async () => {
  const { owner, colleague, env, run, store, site } = await openTeam("store");
  const keys = new Set<string>();
  const { signing_secret: secret } = JSON.parse(
    await run(`listen --print-secret --store ${store} --json`),
  ) as {
    readonly signing_secret: string;
  };
  const harness: typeof colleague = {
    ...colleague,
    clock: owner.clock,
    setShell: (shell) =>
      colleague.setShell((command) => {
        keys.add(command.env["CHECKOUT_API_KEY"] ?? "");
        return shell(command);
      }),
  };
  const request: (typeof site.sandbox)["request"] = (one) =>
    site.sandbox.request({
      ...one,
      headers: { Authorization: `Bearer ${[...keys].at(-1)}`, ...one.headers },
    });
  const sandbox = { ...site.sandbox, request, ready: { ...site.sandbox.ready, signing_secret: secret } };
  describedShop({
    harness,
    sandbox: () => sandbox,
    retrieve: () => Promise.reject(new Error("no page asks")),
  }).open();
  owner.setFault((sent, pass) => (sent.url.startsWith(SHOP) ? colleague.send(sent) : pass()));
  await run(`endpoints add ${SHOP}/hooks --store ${store}`);
  const view = ["--order-view", `${SHOP}/orders/{order_id}`, "--paid-when", '"paid"'];
  const { now, monotonic, sleep, after } = owner.clock;
  const judged = await colleague.run(
    ["checklist", "run", "--create", "create-order", ...view, "--only", "answer_lost", "--settle", "60s"],
    { env, world: { now, monotonic, sleep, after } },
  );
  expect([judged.code, judged.stderr.includes("✗")]).toEqual([0, false]);
  const [key = "", ...others] = keys;
  expect([key.slice(0, 4), others]).toEqual(["svc_", []]);
  expect(await statusOf(site.sandbox, key)).toBe(401);
  expect(await run(`keys list --store ${store} --json`)).not.toContain(key.slice(-4));
});

/** The status of a retrieve of an unknown session, which is 404 if the key is valid. */
async function statusOf(sandbox: RunningSandbox, key: string): Promise<number> {
  const headers = { Authorization: `Bearer ${key}` };
  const path = "/v1/checkout-sessions/0199a3c4-5d00-7000-8000-00000000000f";
  return (await sandbox.request({ method: "GET", path, headers })).status;
}

test("the temporary key of a command is revoked after the command or sandbox was killed, or when its lease has expired", async () => {
  const harness = createHarness();
  let sandbox = await harness.start();
  const { ready } = sandbox;
  const made = JSON.parse((await harness.run(["tokens", "create", "--json"])).stdout) as { token: string };
  const env = { CHECKOUT_BASE_URL: ready.base_url, CHECKOUT_CONTROL_TOKEN: made.token };
  /** Runs a command until it has used its key, and returns the key. */
  const keyOf = async (line: string, killed?: AbortSignal): Promise<string> => {
    const keys = new Set<string>();
    const note = (key = ""): void => void (key !== "" && keys.add(key));
    const never = new Promise<never>(() => undefined);
    harness.setShell((command) => (note(command.env["CHECKOUT_API_KEY"]), never));
    harness.setFault((request, pass) => {
      if (!request.url.endsWith("/v1/orders")) return pass();
      note(request.headers["Authorization"]?.slice("Bearer ".length));
      return never;
    });
    const options = { cwd: tempFolder(), env, ...(killed && { killed }) };
    void harness.run(line.split(" "), options);
    await eventually(`${line} has a key`, () => expect(keys.size).toBe(1));
    const [key = ""] = keys;
    expect(await statusOf(sandbox, key)).toBe(404);
    return key;
  };
  const isRevoked = (label: string, key: string): Promise<void> =>
    eventually(label, async () => expect(await statusOf(sandbox, key)).toBe(401));
  const run = `checklist run idempotency --create buy`;
  for (const line of ["trigger order.succeeded --order-id order-9", run]) {
    const kill = new AbortController();
    const key = await keyOf(line, kill.signal);
    kill.abort();
    await isRevoked(`${line} was killed`, key);
  }
  const held = await keyOf(run);
  harness.clock.advance(2 * 3_600_000);
  await isRevoked("the lease is too old", held);
  const last = await keyOf(run);
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"));
  // A killed sandbox leaves the key unrevoked.
  const keptAlive = "UPDATE credentials SET revoked_at = NULL WHERE for_drill = 1";
  await sandbox.stop();
  database.exec(keptAlive);
  database.close();
  sandbox = await harness.start();
  await isRevoked("the sandbox was killed", last);
  expect(JSON.parse((await harness.run(["keys", "list", "--json"])).stdout)).toMatchObject({ keys: [{}] });
});

const SHOP = "http://localhost:3000";
