import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { FULL, seededRandom, SEED, size } from "../support/campaign.ts";
import { openControl } from "../support/control.ts";
import { begin, startSandbox, type SandboxProcess } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { manyOrders } from "../support/rows.ts";

const ROUNDS = size(4, 60);
const CHECKOUTS = size(2000, 10_000);
/** Maximum time until an early kill: the erasure may not have begun yet. */
const EARLY_MS = 20;
const STORES = {
  erased: "00000000-0000-4000-8000-00000000000a",
  other: "00000000-0000-4000-8000-00000000000b",
};
const KINDS = ["reset", "delete", "reset of a folder"] as const;
type Kind = (typeof KINDS)[number];

test(`after a kill during the reset or deletion of a store, the next start serves the store whole or erased completely (seed ${SEED})`, async () => {
  const cwd = tempFolder();
  const random = seededRandom(SEED);
  let sandbox = await startSandbox({ cwd });
  const database = new Database(join(cwd, ".checkout/sandbox.db"), { timeout: 60_000 });
  onTestFinished(() => void database.close());
  await makeStores(cwd, sandbox);
  fill(database, STORES.other, "other");
  const untouched = rowCounts(database, STORES.other);
  const outcomes = new Set<string>();
  let eraseMs = 50;
  for (let round = 0; round < ROUNDS; round += 1) {
    const kind = KINDS[round % KINDS.length] ?? "reset";
    await makeStores(cwd, sandbox);
    if (rowCounts(database, STORES.erased).checkouts === 0) fill(database, STORES.erased, `round ${round}`);
    const whole = rowCounts(database, STORES.erased);
    const startedAt = performance.now();
    const erasing = await startErasing(cwd, sandbox, kind);
    const isEarly = round >= KINDS.length && random() < 0.25;
    if (!isEarly) await untilBegun(database, erasing.ended);
    // The first rounds are killed after the erasure, and measure its time.
    if (round < KINDS.length) await erasing.ended;
    else await sleep(isEarly ? random() * EARLY_MS : random() * eraseMs);
    eraseMs = Math.max(eraseMs, round < KINDS.length ? performance.now() - startedAt : 0);
    await erasing.kill();
    outcomes.add(stateOf(database, whole));
    sandbox = await startSandbox({ cwd });
    // The start must have finished the erasure before any request.
    const state = stateOf(database, whole);
    expect([round, kind, state]).toEqual([round, kind, expect.stringMatching(/^(whole|erased|gone)$/)]);
    expect(state).not.toBe(kind === "delete" ? "erased" : "gone");
    expect([round, hasKey(cwd)]).toEqual([round, state !== "gone"]);
    expect(rowCounts(database, STORES.other)).toEqual(untouched);
    expect(database.pragma("foreign_key_check")).toEqual([]);
  }
  if (FULL) expect([...outcomes].toSorted()).toEqual(["erased", "gone", "half", "whole"]);
});

async function makeStores(cwd: string, sandbox: SandboxProcess): Promise<void> {
  const stores = Object.entries(STORES).map(([name, id]) => ({ id, name }));
  await openControl(sandbox.port, join(cwd, ".checkout")).call("applyConfig", { body: { stores } });
}

async function startErasing(cwd: string, sandbox: SandboxProcess, kind: Kind) {
  if (kind === "reset of a folder") {
    await sandbox.stop("SIGTERM");
    const command = begin(["sandbox", "reset", "--store", STORES.erased, "--yes"], { cwd });
    const ended = new Promise<void>((resolve) => command.process.once("close", () => resolve()));
    return { ended, kill: () => command.stop("SIGKILL") };
  }
  const path = kind === "reset" ? "reset" : `stores/${STORES.erased}/delete`;
  const { control_token: token } = JSON.parse(readFileSync(join(cwd, ".checkout/run.json"), "utf8")) as {
    readonly control_token: string;
  };
  const asked = fetch(`http://127.0.0.1:${sandbox.port}/__sandbox/${path}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify(kind === "reset" ? { store: STORES.erased } : {}),
  });
  const ended = asked.then(
    (answer) => expect(answer.status).toBe(200),
    // The sandbox may be killed before it answers.
    () => undefined,
  );
  return { ended, kill: () => sandbox.stop("SIGKILL") };
}

/** Waits until an erasure is recorded in the file, or has ended. */
async function untilBegun(database: Database.Database, ended: Promise<void>): Promise<void> {
  const over = new AbortController();
  void ended.then(() => over.abort());
  const pending = database.prepare("SELECT count(*) FROM erasures").pluck();
  while (!over.signal.aborted && pending.get() === 0) await sleep(0);
}

/** Writes orders of a store, each with its key and its event. */
function fill(database: Database.Database, storeId: string, name: string): void {
  const tag = Buffer.from(name).toString("hex").padEnd(8, "0").slice(-8);
  const id = `printf('${tag}-${storeId.slice(-4)}-7000-8000-%012d', n)`;
  const ended = { status: "cancelled" };
  database.exec(`
    BEGIN IMMEDIATE;
    ${manyOrders({ storeId, count: CHECKOUTS, id, checkout: ended })}
    COMMIT;`);
}

function rowCounts(database: Database.Database, storeId: string) {
  const count = (table: string): number =>
    Number(database.prepare(`SELECT count(*) FROM ${table} WHERE store_id = ?`).pluck().get(storeId));
  return {
    checkouts: count("checkouts"),
    keys: count("idempotency_keys"),
    events: count("events"),
    prices: count("prices"),
    credentials: count("credentials"),
    erasures: count("erasures"),
  };
}

/** The state of the store: "whole" if unchanged, "half" if partly erased, "erased" if reset, "gone" if deleted. */
function stateOf(database: Database.Database, whole: ReturnType<typeof rowCounts>): string {
  const now = JSON.stringify(rowCounts(database, STORES.erased));
  const nothing = { checkouts: 0, keys: 0, events: 0, erasures: 0 };
  if (now === JSON.stringify(whole)) return "whole";
  if (now === JSON.stringify({ ...whole, ...nothing })) return "erased";
  return now === JSON.stringify({ ...whole, ...nothing, prices: 0, credentials: 0 }) ? "gone" : "half";
}

/** Whether credentials.json still has the key of the store. */
function hasKey(cwd: string): boolean {
  return readFileSync(join(cwd, ".checkout/credentials.json"), "utf8").includes(STORES.erased);
}
