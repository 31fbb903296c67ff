import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { currentSchemaVersion, type FileKind } from "../../src/store/connection/database.ts";
import { openDatabase } from "../../src/store/connection/open-database.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import { openStore } from "../../src/store/store.ts";
import { SEED, seededRandom, size } from "../support/campaign.ts";
import { HAS_STRACE, runTraced } from "../support/disk-faults.ts";
import { tempFolder } from "../support/temp-folder.ts";

const PROGRAM = join(import.meta.dirname, "../support/tie-program.ts");
const FILES = ["", "-wal", "-opening"] as const;
/** The system calls that change a file, its name or the disk; a process is killed before one of these calls. */
const CALLS = ["pwrite64", "write", "fsync", "fdatasync", "rename", "unlink", "ftruncate", "rmdir"];
const TRIALS = size(3, 150);
/** Number of successive kills in one folder. */
const KILLS = 3;

/** The last schema version without sandbox.db-opening: each commit wrote a mark instead. */
const OLDER: FileKind = { ...SANDBOX_FILE, migrations: SANDBOX_FILE.migrations.slice(0, 36 - 30 + 1) };

/** Creates a database of the older version with one row, closed or as a killed process leaves it. */
function olderFile(path: string, isKilled: boolean): void {
  const from = join(tempFolder(), "sandbox.db");
  const opened = openDatabase(from, { kind: OLDER });
  if (!opened.ok) throw new Error(opened.refusal.message);
  opened.value.exec(`BEGIN IMMEDIATE;
    INSERT INTO merchants (id, name, created_at) VALUES ('older-1', 'm', 1);
    UPDATE log_mark SET before = opening, opening = randomblob(16);
    COMMIT`);
  if (!isKilled) opened.value.close();
  for (const ending of FILES) if (existsSync(from + ending)) copyFileSync(from + ending, path + ending);
  if (isKilled) opened.value.close();
}

const BEGINNINGS: readonly { readonly name: string; readonly make: (path: string) => readonly string[] }[] = [
  { name: "nothing", make: () => [] },
  { name: "a closed file of the version before", make: (path) => (olderFile(path, false), ["older-1"]) },
  { name: "a killed file of the version before", make: (path) => (olderFile(path, true), ["older-1"]) },
];

/** Runs the program to its end, and counts its calls in its folder by name. */
async function countCalls(path: string): Promise<ReadonlyMap<string, number>> {
  const log = join(tempFolder(), "calls");
  const strace = ["-o", log, "-e", `trace=${CALLS.join(",")}`, "-e", "signal=none"];
  const { stdout } = await runTraced([path, "counted"], { cwd: dirname(path), strace, program: PROGRAM })
    .ended;
  expect(stdout).toBe("counted-1\ncounted-2\ncounted-3\n");
  const lines = readFileSync(log, "utf8").split("\n");
  return new Map(
    CALLS.map((call) => [call, lines.filter((line) => new RegExp(`^\\d+ +${call}\\(`).test(line)).length]),
  );
}

/** Opens a copy of the files as the next start does; returns the refusal, the rows and the logs that it moved aside. */
async function openAsNextStart(path: string) {
  const copy = join(tempFolder(), "sandbox.db");
  for (const ending of FILES) if (existsSync(path + ending)) copyFileSync(path + ending, copy + ending);
  const aside: string[] = [];
  const opened = openStore(copy, {
    scheduler: { soon: setImmediate, after: (ms, run) => void setTimeout(run, ms) },
    onLogMoved: (log) => void aside.push(log),
  });
  if (!opened.ok) return { refusal: opened.refusal, rows: [], aside };
  const { stores, write, close } = opened.value;
  await write(() => stores.insertMerchant({ id: "next", name: "m", createdAt: 1 }));
  close();
  const again = openDatabase(copy, { kind: SANDBOX_FILE });
  if (!again.ok) return { refusal: again.refusal, rows: [], aside };
  const check = again.value.pragma("integrity_check", { simple: true });
  const rows = again.value.prepare<[], string>("SELECT id FROM merchants").pluck().all();
  again.value.close();
  return { refusal: check === "ok" ? undefined : check, rows, aside };
}

test("a process that is killed before any file call of a database's opening, commit, migration or close loses no acknowledged row", async ({
  annotate,
}) => {
  if (!HAS_STRACE) return void (await annotate("strace is not installed: no call could be the last"));
  const random = seededRandom(SEED);
  let kills = 0;
  for (let trial = 0; trial < TRIALS; trial += 1) {
    const { name, make } = BEGINNINGS[trial % BEGINNINGS.length] ?? { name: "nothing", make: () => [] };
    const counted = join(tempFolder(), "sandbox.db");
    make(counted);
    const counts = [...(await countCalls(counted))].filter(([, count]) => count > 0);
    const path = join(tempFolder(), "sandbox.db");
    const acknowledged = [...make(path)];
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const all = counts.flatMap(([call, count]) =>
        Array.from({ length: count }, (_, nth) => [call, nth + 1] as const),
      );
      const [call, nth] = all[Math.floor(random() * all.length)] ?? ["fsync", 1];
      const strace = [
        "-o",
        "/dev/null",
        "-e",
        `trace=${call}`,
        "-e",
        `inject=${call}:signal=KILL:when=${nth}`,
      ];
      const args = [path, `t${trial}k${kill}`];
      const { stdout, stderr } = await runTraced(args, { cwd: dirname(path), strace, program: PROGRAM })
        .ended;
      const where = [SEED, name, trial, kill, call, nth];
      expect([...where, stderr]).toEqual([...where, expect.not.stringContaining("Error")]);
      acknowledged.push(...stdout.split("\n").filter((line) => line !== ""));
      if (!existsSync(path)) continue;
      const { refusal, rows, aside } = await openAsNextStart(path);
      expect([...where, refusal, aside]).toEqual([...where, undefined, []]);
      expect([...where, acknowledged.filter((row) => !rows.includes(row))]).toEqual([...where, []]);
      kills += 1;
    }
  }
  expect(kills).toBeGreaterThan(TRIALS);
  await annotate(`seed ${SEED}: ${kills} kills, schema version ${currentSchemaVersion(SANDBOX_FILE)}`);
});
