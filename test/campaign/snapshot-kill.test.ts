import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { openImage, SNAPSHOT_FILE } from "../../src/store/snapshot/image.ts";
import { FULL, seededRandom, SEED, size } from "../support/campaign.ts";
import { begin, startSandbox, type SandboxProcess } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { manyOrders } from "../support/rows.ts";

const ROUNDS = size(3, 90);
const ORDERS = size(1000, 10_000);
const KINDS = ["restore", "create", "restore in a folder"] as const;
type Kind = (typeof KINDS)[number];
/** A folder with the sandbox that serves it. */
type Site = { readonly cwd: string; readonly sandbox: SandboxProcess };

test(`a killed snapshot or restore leaves the old or the new state, never a mixture (seed ${SEED})`, async () => {
  const cwd = tempFolder();
  const random = seededRandom(SEED);
  const startedAt = performance.now();
  let sandbox = await startSandbox({ cwd });
  const startMs = performance.now() - startedAt;
  const database = new Database(join(cwd, ".checkout/sandbox.db"), { timeout: 60_000 });
  onTestFinished(() => void database.close());
  const storeId = sandbox.ready.store_id;
  fill(database, storeId, "base");
  expect(await snapshots({ cwd, sandbox }, "", "base")).toBe(200);
  const createMs = await timeOf(async () => expect(await snapshots({ cwd, sandbox }, "", "other")).toBe(200));
  const restoreMs = await timeOf(async () =>
    expect(await snapshots({ cwd, sandbox }, "/restore", "base")).toBe(200),
  );
  const base = ordersIn(database);
  const outcomes = new Set<string>();
  const usualMs: Readonly<Record<Kind, number>> = {
    restore: restoreMs,
    create: createMs,
    "restore in a folder": startMs + restoreMs,
  };
  for (let round = 0; round < ROUNDS; round += 1) {
    const kind = KINDS[round % KINDS.length] ?? "restore";
    fill(database, storeId, `${round}`);
    // `fill` writes as another program, without the log's mark. This write adds a mark, so that the log does not look
    // foreign after the kill.
    expect(await post({ cwd, sandbox }, "clock", { action: "real" })).toBe(200);
    const [before, other] = [ordersIn(database), ordersInSnapshot(cwd, "other")];
    const work = await startWork({ cwd, sandbox }, kind);
    // In a campaign the first work of each kind is not killed.
    await (FULL && round < KINDS.length ? work.ended : sleep(random() * usualMs[kind]));
    await work.kill();
    sandbox = await startSandbox({ cwd });
    const [after, held] = [ordersIn(database), ordersInSnapshot(cwd, "other")];
    const isRestore = kind !== "create";
    outcomes.add(`${kind}: ${isRestore ? after === base : held === before ? "new" : "old"}`);
    expect([round, kind, isRestore ? [before, base] : [before]]).toEqual([
      round,
      kind,
      expect.arrayContaining([after]),
    ]);
    expect([round, kind, isRestore ? [other] : [other, before]]).toEqual([
      round,
      kind,
      expect.arrayContaining([held]),
    ]);
    expect(ordersInSnapshot(cwd, "base")).toBe(base);
    expect(database.pragma("foreign_key_check")).toEqual([]);
    expect(await snapshots({ cwd, sandbox }, "/restore", "base")).toBe(200);
    expect(await snapshots({ cwd, sandbox }, "", "other")).toBe(200);
    // The next write has removed an unfinished file that the kill left.
    expect(readdirSync(join(cwd, ".checkout/snapshots")).toSorted()).toEqual([
      "base.snapshot",
      "other.snapshot",
    ]);
  }
  if (FULL) expect(outcomes.size).toBe(2 * KINDS.length);
});

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const since = performance.now();
  await work();
  return performance.now() - since;
}

/** Starts to take or to restore a snapshot in another process. */
async function startWork({ cwd, sandbox }: Site, kind: Kind) {
  if (kind === "restore in a folder") {
    await sandbox.stop("SIGTERM");
    const command = begin(["snapshots", "restore", "base"], { cwd });
    const ended = new Promise<void>((resolve) => command.process.once("close", () => resolve()));
    return { ended, kill: () => command.stop("SIGKILL") };
  }
  const site = { cwd, sandbox };
  const asked = kind === "restore" ? snapshots(site, "/restore", "base") : snapshots(site, "", "other");
  // The sandbox may be killed before it answers.
  const ended = asked.catch(() => undefined);
  return { ended, kill: () => sandbox.stop("SIGKILL") };
}

function snapshots(site: Site, path: string, name: string): Promise<number> {
  return post(site, `snapshots${path}`, { name });
}

/** Calls the control API; returns the status. */
async function post({ cwd, sandbox }: Site, path: string, body: object): Promise<number> {
  const { control_token: token } = JSON.parse(readFileSync(join(cwd, ".checkout/run.json"), "utf8")) as {
    readonly control_token: string;
  };
  const url = `http://127.0.0.1:${sandbox.port}/__sandbox/stores/default/${path}`;
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  return (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).status;
}

/** Writes orders of a store, each with its key and its event. */
function fill(database: Database.Database, storeId: string, name: string): void {
  const tag = Buffer.from(name).toString("hex").padEnd(8, "0").slice(0, 8);
  const id = `printf('${tag}-0000-7000-8000-%012d', n)`;
  const named = { orderId: `'${tag}' || n`, key: `'${tag}-key' || n` };
  database.exec(`
    BEGIN IMMEDIATE;
    ${manyOrders({ storeId, count: ORDERS, id, ...named, checkout: { status: "cancelled" } })}
    COMMIT;`);
}

const COUNTS =
  "SELECT (SELECT count(*) FROM checkouts) || ' ' || (SELECT count(*) FROM idempotency_keys) || ' ' || (SELECT count(*) FROM events)";

/** The number of orders, keys and events in a database. */
function ordersIn(database: Database.Database): string {
  return String(database.prepare(COUNTS).pluck().get());
}

/** The number of orders, keys and events in a named snapshot, which must open. */
function ordersInSnapshot(cwd: string, name: string): string {
  const bytes = readFileSync(join(cwd, `.checkout/snapshots/${name}.snapshot`));
  const opened = openImage(bytes, { kind: SNAPSHOT_FILE, nativeBinding: undefined });
  if (!opened.ok) throw new Error(opened.refusal);
  const counted = ordersIn(opened.value.connection);
  opened.value.connection.close();
  return counted;
}
