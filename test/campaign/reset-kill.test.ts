import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { seededRandom, SEED, size } from "../support/campaign.ts";
import { PROGRAM, run, startSandbox } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const ROUNDS = size(5, 100);
const CHECKOUTS = 5000;

test(`a reset that is killed has taken all or nothing (seed ${SEED})`, async () => {
  const cwd = tempFolder();
  const sandbox = await startSandbox({ cwd });
  await sandbox.stop("SIGTERM");
  const random = seededRandom(SEED);
  const outcomes = new Set<number>();
  let withinMs = 100;
  for (let round = 0; round < ROUNDS; round += 1) {
    if (countsIn(cwd)[0] === 0) fill(cwd, sandbox.ready.store_id, round);
    const startedAt = performance.now();
    const reset = spawn(process.execPath, [PROGRAM, "sandbox", "reset", "--yes"], { cwd, stdio: "ignore" });
    const gone = once(reset, "exit");
    // The first one tells how long it takes.
    if (round > 0) {
      await sleep(random() * withinMs);
      reset.kill("SIGKILL");
    }
    await gone;
    if (round === 0) withinMs = performance.now() - startedAt;
    const counts = countsIn(cwd);
    expect([round, counts]).toEqual([round, counts.map(() => (counts[0] === 0 ? 0 : CHECKOUTS))]);
    outcomes.add(counts[0] ?? -1);
  }
  expect(outcomes).toContain(0);
  expect((await run(["sandbox", "reset", "--yes"], { cwd })).code).toBe(0);
  expect(countsIn(cwd)).toEqual([0, 0, 0]);
});

/** Orders of a day, each with its key and its event. */
function fill(cwd: string, storeId: string, round: number): void {
  const database = new Database(join(cwd, ".checkout/sandbox.db"));
  const id = `printf('%08d-${String(round).padStart(4, "0")}-7000-8000-000000000000', n)`;
  const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${CHECKOUTS})`;
  database.exec(`
    BEGIN;
    ${numbers} INSERT INTO checkouts SELECT ${id}, '${storeId}', 'order', 'o' || n, 1, 'EUR', 'alipay_plus', NULL, NULL, 'created', 1, 2 FROM numbers;
    ${numbers} INSERT INTO idempotency_keys SELECT '${storeId}', 'key-0000' || n, '${"f".repeat(64)}', 201, ${id}, '{}', ${id}, 1 FROM numbers;
    ${numbers} INSERT INTO events (id, store_id, checkout_id, type, sequence, body, created_at)
      SELECT ${id}, '${storeId}', ${id}, 'order.created', 1, '{}', 1 FROM numbers;
    COMMIT;`);
  database.close();
}

function countsIn(cwd: string): number[] {
  const database = new Database(join(cwd, ".checkout/sandbox.db"));
  const counts = ["checkouts", "idempotency_keys", "events"].map((name) =>
    Number(database.prepare(`SELECT count(*) FROM ${name}`).pluck().get()),
  );
  database.close();
  return counts;
}
