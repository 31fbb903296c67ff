import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ReadyMessage } from "../../src/host/ready.ts";
import { newApiKey } from "../../src/sandbox/runtime/keys.ts";
import { fileSizeOf } from "../../src/store/connection/durable-files.ts";
import { openStore } from "../../src/store/store.ts";
import type { Files } from "../../src/world.ts";
import { createHarness, type Harness } from "../support/harness.ts";
import { REAL } from "../support/real.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { inOrder } from "../support/in-order.ts";

const START = ["sandbox", "start", "--json", "--port", "0"];

/** Ways to lose the log of a killed sandbox, as by a system crash, a careless script or a copy. */
const LOG_LOSSES: Readonly<Record<string, (database: string) => void>> = {
  "nothing is lost": () => undefined,
  "the log is removed": (database) => rmSync(`${database}-wal`),
  "the log is emptied": (database) => truncateSync(`${database}-wal`),
  "log and index are removed": (database) => ["-wal", "-shm"].forEach((end) => rmSync(database + end)),
};

const CREATE = ["orders", "create", "--order-id", "o-1", "--price-id", "price_coffee", "--json"];
/** The file that only the warning of a lost log names. */
const LOST = "sandbox.db-wal";

const json = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

function fileOf(harness: Harness, name: string): string {
  return join(harness.cwd, ".checkout", name);
}

/** A harness whose folder is a copy of the state that `kill -9` of the sandbox would leave at this moment. */
function killed(harness: Harness): Harness {
  const other = createHarness();
  cpSync(join(harness.cwd, ".checkout"), join(other.cwd, ".checkout"), { recursive: true });
  return other;
}

test.for(Object.entries(LOG_LOSSES))(
  "a sandbox killed just after its first start keeps its store and its key: %s",
  async ([loss, lose]) => {
    const young = createHarness();
    const { ready } = await young.start(["--port", "0"]);
    const after = killed(young);
    lose(fileOf(after, "sandbox.db"));
    const credentials = readFileSync(fileOf(after, "credentials.json"), "utf8");
    const { ready: again } = await after.start(["--port", "0"]);
    const identity = ({ store_id, merchant_id, api_key, signing_secret }: ReadyMessage) => [
      store_id,
      merchant_id,
      api_key,
      signing_secret,
    ];
    expect([loss, identity(again)]).toEqual([loss, identity(ready)]);
    expect(readFileSync(fileOf(after, "credentials.json"), "utf8")).toBe(credentials);
  },
);

test("a start reports a lost log only if a killed sandbox had made a change", async () => {
  const first = createHarness();
  await (await first.start(["--port", "0"])).stop();
  const restarted = killed(first);
  await restarted.start(["--port", "0"]);
  expect(fileSizeOf(fileOf(restarted, "sandbox.db-wal"))).toBe(0);
  const startAfterLoss = async (harness: Harness): Promise<string> => {
    for (const ending of ["-wal", "-shm"]) rmSync(fileOf(harness, `sandbox.db${ending}`), { force: true });
    return (await (await harness.start(["--port", "0"])).stop()).stderr;
  };
  expect(await startAfterLoss(killed(restarted))).not.toContain(LOST);
  expect((await restarted.run(CREATE)).code).toBe(0);
  expect(await startAfterLoss(killed(restarted))).toContain(LOST);
  // The next sandbox finds the log of a killed sandbox, and is killed before its own first change.
  const next = killed(restarted);
  await next.start(["--port", "0"]);
  expect(await startAfterLoss(killed(next))).toContain(LOST);
});

test("a start, and a command on a stopped folder, report that a killed sandbox's log was removed or emptied", async () => {
  const young = createHarness();
  await young.start(["--port", "0"]);
  expect((await young.run(CREATE)).code).toBe(0);
  const said = async (harness: Harness, args: readonly string[]): Promise<string> =>
    args === START
      ? (await (await harness.start(["--port", "0"])).stop()).stderr
      : (await harness.run(args)).stderr;
  for (const args of [START, ["snapshots", "create", "before", "--json"]])
    for (const [loss, lose] of Object.entries(LOG_LOSSES)) {
      const after = killed(young);
      lose(fileOf(after, "sandbox.db"));
      const isLost = loss !== "nothing is lost";
      expect([loss, (await said(after, args)).includes(LOST)]).toEqual([loss, isLost]);
      // Reported only once, because run.json of the killed sandbox is removed with the report.
      expect([loss, await said(after, args)]).toEqual([loss, expect.not.stringContaining(LOST)]);
    }
});

test("a start after a kill keeps the API key that was given to the first start", async () => {
  const env = { CHECKOUT_SANDBOX_API_KEY: newApiKey(REAL) };
  const young = createHarness();
  await young.start(["--port", "0"], { env });
  expect((await young.run(CREATE)).code).toBe(0);
  const after = killed(young);
  const { ready } = await after.start(["--port", "0"], { env });
  expect(ready.api_key).toBe(env.CHECKOUT_SANDBOX_API_KEY);
});

/** A folder whose database has no store, as after a killed start or an older version's lost log. */
async function withoutStore(credentials: object): Promise<Harness> {
  const harness = createHarness();
  await (await harness.start(["--port", "0"])).stop();
  rmSync(fileOf(harness, "sandbox.db"));
  openAndClose(fileOf(harness, "sandbox.db"));
  writeFileSync(fileOf(harness, "credentials.json"), JSON.stringify(credentials));
  return harness;
}

const STORES = {
  "019bc1f0-3d10-7000-8000-000000000001": { name: "Sandbox Store", api_key: `svc_test_${"a".repeat(33)}` },
};
const OLD_FORM = { store_id: Object.keys(STORES)[0], api_key: `svc_test_${"a".repeat(33)}` };

test("a database without the store that credentials.json names is refused, and no file changes", async () => {
  for (const credentials of [{ stores: STORES }, OLD_FORM])
    for (const args of [
      START,
      ["sandbox", "reset", "--yes", "--json"],
      ["snapshots", "create", "x", "--json"],
    ]) {
      const harness = await withoutStore(credentials);
      const before = filesOf(harness);
      const { code, stderr } = await harness.run(args);
      expect([args, code]).toEqual([args, 1]);
      expect(json(stderr)).toMatchObject({
        error: {
          code: "state_file_missing",
          message: expect.stringMatching(inOrder("sandbox.db", "0001", "credentials.json")),
        },
        next: expect.stringMatching(inOrder("sandbox.db", "sandbox.db-wal")),
      });
      expect(filesOf(harness)).toEqual(before);
    }
});

test("after a start that ended before its ready line, the next start creates a new store", async () => {
  for (const credentials of [{ ready: false, stores: STORES }, { stores: {} }]) {
    const harness = await withoutStore(credentials);
    const { ready } = await harness.start(["--port", "0"]);
    expect(readCredentials(harness)).toEqual({
      stores: { [ready.store_id]: { name: ready.store_name, api_key: ready.api_key } },
    });
  }
});

test("credentials.json marks a first start as unfinished until sandbox.db contains the store even without its log", async () => {
  const harness = createHarness();
  const isAlone: [ready: unknown, stores: number][] = [];
  const write: Files["write"] = (path, content) => {
    if (path.endsWith("credentials.json"))
      isAlone.push([json(String(content))["ready"], storesIn(fileOf(harness, "sandbox.db"))]);
    REAL.files.write(path, content);
  };
  await harness.start(["--port", "0"], { world: { files: { ...REAL.files, write } } });
  expect(isAlone).toEqual([
    [false, 0],
    [undefined, 1],
  ]);
});

test("the next start confirms the store of a first start that was killed before the confirmation", async () => {
  const young = createHarness();
  const { ready } = await young.start(["--port", "0"]);
  const after = killed(young);
  const credentials = readCredentials(after);
  writeFileSync(fileOf(after, "credentials.json"), JSON.stringify({ ready: false, ...credentials }), {
    mode: 0o600,
  });
  expect((await after.start(["--port", "0"])).ready.api_key).toBe(ready.api_key);
  expect(readCredentials(after)).toEqual(credentials);
});

test("if a first start lost its log before its ready line, the next start creates a new store", async () => {
  for (const lose of [LOG_LOSSES["the log is emptied"], LOG_LOSSES["the log is removed"]]) {
    const young = createHarness();
    await young.start(["--port", "0"]);
    expect((await young.run(CREATE)).code).toBe(0);
    const after = killed(young);
    const unconfirmed = JSON.stringify({ ready: false, ...readCredentials(after) });
    writeFileSync(fileOf(after, "credentials.json"), unconfirmed, { mode: 0o600 });
    // Some pages were copied out of the log, others not.
    const database = fileOf(after, "sandbox.db");
    writeFileSync(database, readFileSync(database).fill(0, 4 * 4096));
    lose?.(database);
    const { ready } = await after.start(["--port", "0"]);
    expect(readCredentials(after)).toEqual({
      stores: { [ready.store_id]: { name: ready.store_name, api_key: ready.api_key } },
    });
  }
});

function readCredentials(harness: Harness): Record<string, unknown> {
  return json(readFileSync(fileOf(harness, "credentials.json"), "utf8"));
}

/** The number of stores in a database file without its log: none or one. */
function storesIn(database: string): number {
  const alone = join(tempFolder(), "alone.db");
  cpSync(database, alone);
  return openAndClose(alone) === undefined ? 0 : 1;
}

/** Creates the database if there is none; returns its first store. */
function openAndClose(path: string): unknown {
  const opened = openStore(path, { pid: process.pid, scheduler: REAL });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const first = opened.value.stores.first();
  opened.value.close();
  return first;
}

/** The files of a state folder, without the -wal and -shm files, which any reader of a database creates. */
function filesOf(harness: Harness): Readonly<Record<string, string>> {
  const folder = join(harness.cwd, ".checkout");
  const names = readdirSync(folder).filter((name) => !/-(wal|shm)$/.test(name));
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), "hex")]));
}
