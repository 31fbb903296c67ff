import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { Writable } from "node:stream";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { REAL } from "../support/real.ts";
import { FileRefused } from "../../src/core/outcome.ts";
import type { RunRecord } from "../../src/core/state-files.ts";
import { createFailureLog } from "../../src/sandbox/runtime/failure-log.ts";
import { checkDatabase } from "../../src/store/connection/database-check.ts";
import { storageFailure, storageFailureOf } from "../../src/store/connection/storage-failure.ts";
import { openWatchedDatabase } from "../../src/store/connection/watched-database.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import type { World } from "../../src/world.ts";
import { FULL, part } from "../support/campaign.ts";
import { failArgs, HAS_STRACE, runTraced } from "../support/disk-faults.ts";
import { createHarness } from "../support/harness.ts";
import { connect, sendCreate, type Answer } from "../support/load.ts";
import {
  PROGRAM,
  runHere,
  startSandbox,
  startSandboxHere,
  type SandboxHere,
  type SandboxProcess,
} from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

type ServedSandbox = SandboxHere | SandboxProcess;

async function create(sandbox: ServedSandbox, name: string): Promise<Answer | undefined> {
  const service = connect(sandbox, 1);
  const answer = await sendCreate(service, { key: `key-of-${name}`, orderId: name });
  service.agent.destroy();
  return answer;
}

async function health({ port }: ServedSandbox): Promise<readonly [number, string]> {
  const answer = await fetch(`http://127.0.0.1:${port}/healthz`);
  return [answer.status, await answer.text()];
}

test("a sandbox whose database files were removed acknowledges no more writes, and reports the cause", async () => {
  const cwd = tempFolder();
  const sandbox = await startSandbox({ cwd, args: ["--quiet", "--dir", "state"] });
  expect((await create(sandbox, "before"))?.status).toBe(201);
  expect(await health(sandbox)).toEqual([200, '{"ok":true}']);
  for (const ending of ["-wal", "-shm"]) rmSync(join(cwd, "state", `sandbox.db${ending}`));
  const [status, body] = await health(sandbox);
  expect([status, body]).toEqual([503, expect.stringContaining('"storage_unavailable"')]);
  expect(body).not.toContain(cwd);
  expect(await create(sandbox, "after")).toMatchObject({
    status: 503,
    body: expect.stringContaining(storageFailure("database_changed").sentence),
  });
  expect((await health(sandbox))[0]).toBe(503);
  await sandbox.stop("SIGTERM");
  expect(sandbox.output.stderr).not.toMatch(/\n\s+at /);
});

/** A folder whose sandbox was killed after its second order; `before` is a copy of the database before this order. */
async function createKilledFolder() {
  const cwd = tempFolder();
  const options = { cwd, args: ["--quiet", "--dir", "state"] };
  const first = await startSandboxHere(options);
  const old = await create(first, "old");
  await first.stop();
  const [database, before] = [join(cwd, "state/sandbox.db"), join(tempFolder(), "sandbox.db")];
  copyFileSync(database, before);
  const second = await startSandbox(options);
  const recent = await create(second, "recent");
  await second.stop("SIGKILL");
  return { options, database, before, old, recent };
}

test("another sandbox's write-ahead log next to the database of a killed sandbox is moved aside and reported, and no order is lost", async () => {
  const [other, { options, database, old }] = [await createKilledFolder(), await createKilledFolder()];
  copyFileSync(`${other.database}-wal`, `${database}-wal`);
  const sandbox = await startSandbox(options);
  expect(await create(sandbox, "old")).toMatchObject({ status: 201, body: old?.body });
  await sandbox.stop("SIGTERM");
  expect(sandbox.output.stderr).toMatch(/sandbox\.db-wal\.aside-1\b/);
  expect(readFileSync(`${database}-wal.aside-1`).equals(readFileSync(`${other.database}-wal`))).toBe(true);
});

test("a backup copied over the database of a killed sandbox, next to the old write-ahead log, is refused with two remedies that work", async () => {
  for (const way of ["restores the database", "moves the log away"] as const) {
    const { options, database, before, old, recent } = await createKilledFolder();
    const killed = join(tempFolder(), "killed.db");
    copyFileSync(database, killed);
    copyFileSync(before, database);
    const start = ["sandbox", "start", "--json", "--port", "0", ...options.args];
    for (let times = 0; times < 2; times += 1) {
      const refused = await runHere(start, { cwd: options.cwd });
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("database_foreign_log")]);
      const { next } = JSON.parse(refused.stderr) as { readonly next: string };
      expect(next).toContain("sandbox.db-wal");
    }
    if (way === "restores the database") copyFileSync(killed, database);
    else rmSync(`${database}-wal`);
    const sandbox = await startSandboxHere(options);
    expect(await create(sandbox, "old")).toMatchObject({ status: 201, body: old?.body });
    const again = await create(sandbox, "recent");
    expect([way, again?.body === recent?.body]).toEqual([way, way === "restores the database"]);
    await sandbox.stop();
  }
});

const OPEN = join(import.meta.dirname, "../support/open-program.ts");

const FILES = ["", "-wal", "-shm"] as const;
const ALL_FILES = [...FILES, "-opening"] as const;

/** A database with its log, as a killed process leaves it; opening it opens all three files. */
async function createKilledDatabase(): Promise<string> {
  const cwd = tempFolder();
  const sandbox = await startSandboxHere({ cwd, args: ["--quiet", "--dir", "state"] });
  await create(sandbox, "one");
  const copied = copyOf(join(cwd, "state", "sandbox.db"));
  await sandbox.stop();
  return copied;
}

/** Copies all files of a database, or some of them; returns the path of the copy. */
function copyOf(database: string, files: readonly (typeof ALL_FILES)[number][] = ALL_FILES): string {
  const path = join(tempFolder(), "sandbox.db");
  for (const ending of files) copyFileSync(database + ending, path + ending);
  return path;
}

/** Opens databases in one process under strace, and returns a line for each. */
async function openTraced(paths: readonly string[], strace: readonly string[]): Promise<readonly string[]> {
  const options = { cwd: tempFolder(), strace: ["-o", "/dev/null", ...strace], program: OPEN };
  return (await runTraced(paths, options).ended).stdout.trimEnd().split("\n");
}

test("a database file that cannot be opened or extended is reported with its cause", async ({ annotate }) => {
  if (!HAS_STRACE) return void (await annotate("strace is not installed: no call could be made to fail"));
  const killed = await createKilledDatabase();
  const rows = [
    [FILES, "openat", "EMFILE", "too_many_open_files"],
    [FILES, "openat", "EIO", "disk_io_error"],
    [FILES, "openat", "ENOSPC", "disk_full"],
    [FILES, "openat", "EACCES", "file_not_permitted"],
    [FILES, "openat", "EROFS", "file_read_only"],
    [["-shm"], "pwrite64", "EIO", "disk_io_error"],
    [["-shm"], "ftruncate", "EIO", "disk_io_error"],
  ] as const;
  for (const [endings, call, error, reason] of rows) {
    // One process opens a copy of the database for each file; in each copy, the call fails for another file.
    const opened = endings.map((ending) => ({ ending, path: copyOf(killed) }));
    const failing = opened.flatMap(({ ending, path }) => ["-P", path + ending]);
    const paths = opened.map(({ path }) => path);
    const said = await openTraced(paths, [...failing, ...failArgs(call, error)]);
    const reasons = said.map((line) => line.split(" ")[0]);
    expect([call, error, endings, reasons]).toEqual([call, error, endings, endings.map(() => reason)]);
  }
  // A disk without room for the index is reported as full, even if SQLite names another error.
  expect(await openTraced([killed], failArgs("pwrite64,ftruncate", "ENOSPC"))).toEqual([
    expect.stringMatching(/^disk_full /),
  ]);
});

/** Opens copies of a database under strace, whose options decide the result of their reads. */
function readingTraced(killed: string): (strace: readonly string[]) => Promise<string> {
  return async (strace) => {
    // Each run leaves its copy without a log, so each needs a new copy.
    const path = copyOf(killed, ["", "-wal", "-opening"]);
    const files = ["", "-wal"].flatMap((ending) => ["-P", path + ending]);
    const traced = runTraced([path], { cwd: dirname(path), strace: [...strace, ...files], program: OPEN });
    return (await traced.ended).stdout;
  };
}

test("a read that fails once or permanently is never reported as damage", async ({ annotate }) => {
  if (!HAS_STRACE) return void (await annotate("strace is not installed: no call could be made to fail"));
  const tried = readingTraced(await createKilledDatabase());
  const log = join(tempFolder(), "calls");
  expect(await tried(["-o", log, "-e", "trace=pread64"])).toBe("opened\n");
  const reads = readFileSync(log, "utf8").match(/pread64\(/g)?.length ?? 0;
  expect(reads).toBeGreaterThan(20);
  const trials = Array.from({ length: reads }, (_, nth) => [`${nth + 1}`, `${nth + 1}+`]).flat();
  const found = new Map<string, string>();
  for (const when of part(trials, 60))
    found.set(when, await tried(["-o", "/dev/null", ...failArgs("pread64", `EIO:when=${when}`)]));
  // Some failures have no effect, because SQLite reads some pages again.
  const others = [...found].filter(([, said]) => said !== "opened\n" && !said.startsWith("disk_io_error "));
  expect(others).toEqual([]);
  expect([...found.values()].filter((said) => said.startsWith("disk_io_error ")).length).toBeGreaterThan(0);
});

test("a schema page that cannot be read is reported as a read error, although SQLite reports damage", async ({
  annotate,
}) => {
  if (!HAS_STRACE) return void (await annotate("strace is not installed: no call could be made to fail"));
  const tried = readingTraced(await createKilledDatabase());
  const log = join(tempFolder(), "calls");
  /** The positions of the reads of 1 MiB if the nth read fails; only a read after a report of damage is so long. */
  const readingAgain = async (nth: number): Promise<number[]> => {
    const said = await tried(["-o", log, ...failArgs("pread64", `EIO:when=${nth}`)]);
    const calls = readFileSync(log, "utf8").match(/pread64\(.*/g) ?? [];
    expect([nth, said]).toEqual([nth, expect.stringMatching(/^(opened|disk_io_error .*)\n$/)]);
    return calls.flatMap((call, index) => (call.includes(", 1048576, ") ? [index + 1] : []));
  };
  let [nth, again]: [number, number | undefined] = [0, undefined];
  while (again === undefined && nth < 20) [again] = await readingAgain((nth += 1));
  const step = (again ?? 0) - nth;
  expect([nth, step]).toEqual([expect.any(Number), expect.toSatisfy((reads: number) => reads > 0)]);
  const said = await tried(["-o", "/dev/null", ...failArgs("pread64", `EIO:when=${nth}+${step}`)]);
  expect(said).toMatch(/^disk_io_error .*EIO/);
});

test("an opening, a read and a check report damaged bytes as damage", async () => {
  const path = await createKilledDatabase();
  const opened = openWatchedDatabase(path, { kind: SANDBOX_FILE });
  if (!opened.ok) throw new Error(opened.refusal.message);
  opened.value.close();
  const bytes = readFileSync(path);
  const spoiled = openWatchedDatabase(path, { kind: SANDBOX_FILE });
  if (!spoiled.ok) throw new Error(spoiled.refusal.message);
  writeFileSync(path, bytes.fill(0xff, 4096));
  expect(() => spoiled.value.connection.prepare("SELECT * FROM stores").all()).toThrow(
    expect.toSatisfy((error: unknown) => storageFailureOf(error)?.code === "database_damaged"),
  );
  spoiled.value.close();
  const again = openWatchedDatabase(path, { kind: SANDBOX_FILE });
  expect(again.ok ? "opened" : again.refusal.reason).toBe("damaged");
  expect(
    checkDatabase(path, { kind: SANDBOX_FILE, scratchFolder: join(tempFolder(), "scratch") }),
  ).toMatchObject({
    refusal: { reason: "damaged" },
  });
});

test("the sandbox answers a file system error with 503, a command prints it, and neither reports a bug", async () => {
  const harness = createHarness();
  let failing: string | undefined;
  const fail = (code: string): never => {
    throw Object.assign(new Error(`${code}: refused, open`), { code, errno: -1, syscall: "open" });
  };
  const files: World["files"] = {
    ...REAL.files,
    write: (path, content) => (failing === undefined ? REAL.files.write(path, content) : fail(failing)),
    read: (path) => (failing === undefined ? REAL.files.read(path) : fail(failing)),
    fill: (path, fill) => (failing === undefined ? REAL.files.fill(path, fill) : fail(failing)),
  };
  const sandbox = await harness.start(["--quiet"], { world: { files } });
  const { control_token: token } = JSON.parse(harness.readState("run.json")) as RunRecord;
  const headers = { Authorization: `Bearer ${token}` };
  const path = `/__sandbox/stores/default/snapshots`;
  for (const code of Object.keys(constants.errno)) {
    failing = code;
    const body = JSON.stringify({ name: "one" });
    const answer = await sandbox.request({ method: "POST", path, body, headers });
    expect([code, answer.status, answer.body]).toEqual([
      code,
      503,
      expect.stringContaining('"storage_unavailable"'),
    ]);
    const { code: exitCode, stdout, stderr } = await harness.run(["whoami", "--json"], { world: { files } });
    const problem = stdout + stderr;
    expect([code, exitCode, problem]).toEqual([code, 1, expect.stringContaining(`${code}: refused, open`)]);
    expect(problem).not.toMatch(/internal_error|defect/);
  }
  failing = undefined;
  expect((await sandbox.stop()).stderr).not.toMatch(/\n\s+at /);
});

test("too many open files are reported as the cause, at any limit", () => {
  const existing = join(tempFolder(), "sandbox.db");
  const open = (...databases: readonly string[]): readonly string[] => {
    const command = ["-c", 'ulimit -n 100; exec "$0" "$@"', process.execPath, OPEN, ...databases];
    return spawnSync("sh", command, { encoding: "utf8" }).stdout.trimEnd().split("\n");
  };
  const trials = Array.from({ length: 16 }, (_, left) => [
    { left, path: existing },
    { left, path: join(tempFolder(), "new.db") },
  ]).flat();
  const words = (some: typeof trials): string[] => some.map(({ left, path }) => `${path}=${left}`);
  // The first opening in a process needs more descriptors for SQLite itself, so the tightest limits get a new process.
  const alone = trials.filter(({ left, path }) => FULL || (left < 3 && path !== existing));
  const [first, ...said] = open(existing, ...words(trials));
  expect([first, said.length]).toEqual(["opened", trials.length]);
  const found = [...said, ...words(alone).flatMap((word) => open(word))];
  const others = found.filter((line) => line !== "opened" && !line.startsWith("too_many_open_files "));
  expect([others, found.filter((line) => line !== "opened").length > 5]).toEqual([[], true]);
  expect(open(`${join(tempFolder(), "new.db")}=15`)).toEqual(["opened"]);
});

test("a program that cannot load files because too many are open reports the cause", async ({ annotate }) => {
  if (!HAS_STRACE) return void (await annotate("strace is not installed: no call could be made to fail"));
  const program = join(dirname(PROGRAM), "../dist/checkout.js");
  const strace = ["-o", "/dev/null", "-P", program, ...failArgs("openat", "EMFILE")];
  const { code, stderr } = await runTraced(["--version"], { cwd: tempFolder(), strace }).ended;
  expect([code, stderr]).toEqual([1, expect.stringContaining("ulimit -n")]);
  expect(stderr).not.toMatch(/\n\s+at /);
});

const HAS_MOUNTS = spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).status === 0;

test("a disk that becomes full while a database is created is reported as full, and the database opens on a larger disk", async ({
  annotate,
}) => {
  if (!HAS_MOUNTS) return void (await annotate("no file system can be mounted here: no disk could be full"));
  const open = join(tempFolder(), "sandbox.db");
  const whole = openWatchedDatabase(open, { kind: SANDBOX_FILE });
  if (!whole.ok) throw new Error(whole.refusal.message);
  whole.value.close();
  const needed = Math.ceil(statSync(open).size / 1024);
  // Disks that are much too small, and disks of about the needed size, in steps of one page.
  const all = [8, 100, 200, ...Array.from({ length: 20 }, (_, pages) => needed + 4 * (pages - 2))];
  const disks = part(all, 4).map((size) => ({ size, disk: join(tempFolder(), `${size}`) }));
  for (const { disk } of disks) mkdirSync(disk);
  const eachDisk = (options: (size: number) => string): string[] =>
    disks.map(({ size, disk }) => `mount -t tmpfs -o ${options(size)} tmpfs '${disk}'`);
  const script = [
    "set -e",
    ...eachDisk((size) => `size=${size}k`),
    '"$@"',
    ...eachDisk(() => "remount,size=8m"),
    '"$@"',
    ...disks.map(({ disk }) => `ls -m '${disk}'`),
  ].join("\n");
  const opens = [process.execPath, OPEN, ...disks.map(({ disk }) => join(disk, "a.db"))];
  const { stdout } = spawnSync("unshare", ["-rm", "sh", "-c", script, "sh", ...opens], { encoding: "utf8" });
  const lines = stdout.trimEnd().split("\n");
  const found = disks.map(({ size }, at) => {
    const [first = "", later, files] = [0, 1, 2].map((round) => lines[at + round * disks.length]);
    return { size, first: first.split(" ")[0], later, files };
  });
  const others = found.filter(({ first }) => first !== "disk_full" && first !== "opened");
  expect(others).toEqual([]);
  expect(found.filter(({ first }) => first === "disk_full").length).toBeGreaterThan(2);
  for (const { size, later, files } of found) expect([size, later, files]).toEqual([size, "opened", "a.db"]);
});

test("a file size limit is reported as the cause of a failed write", () => {
  const open = (blocks: number): string =>
    spawnSync(
      "sh",
      ["-c", 'ulimit -f "$0"; exec "$@"', `${blocks}`, process.execPath, OPEN, join(tempFolder(), "a.db")],
      {
        encoding: "utf8",
      },
    ).stdout;
  const found = part([1, 16, 100, 300, 500, 600], 2).map((blocks) => [blocks, open(blocks).split(" ")[0]]);
  expect(found.filter(([, said]) => said !== "file_too_large" && said !== "opened\n")).toEqual([]);
  expect(found.map(([, said]) => said)).toContain("file_too_large");
});

test("the health check fails after a failed write, until a write succeeds", async () => {
  const cwd = tempFolder();
  const sandbox = await startSandboxHere({ cwd, args: ["--quiet", "--dir", "state"] });
  const other = new Database(join(cwd, "state", "sandbox.db"));
  other.exec("BEGIN IMMEDIATE");
  expect(await create(sandbox, "locked")).toMatchObject({
    status: 503,
    body: expect.stringContaining(storageFailure("file_locked").sentence),
  });
  expect((await health(sandbox))[0]).toBe(503);
  const { checkout_origin: origin, control_token: token, store_id: store } = sandbox.ready;
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const endpoint = JSON.stringify({ url: "http://127.0.0.1:9/hooks" });
  const locked = await Promise.all([
    fetch(`${origin}/healthz`),
    fetch(`${origin}/__sandbox/stores/${store}/endpoints`, { method: "POST", headers, body: endpoint }),
    fetch(`${origin}/v1/orders`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${sandbox.ready.api_key}`,
        "Content-Type": "application/json",
        "Idempotency-Key": "key-of-locked",
      },
      body: JSON.stringify({ order_id: "locked", price_id: "price_ticket" }),
    }),
  ]);
  for (const { status, headers: answered } of locked)
    expect([status, answered.get("retry-after")]).toEqual([503, "1"]);
  other.exec("COMMIT");
  other.close();
  expect((await create(sandbox, "locked"))?.status).toBe(201);
  expect((await health(sandbox))[0]).toBe(200);
  expect(await sandbox.stop()).toBe(0);
});

test("repeated storage failures are logged once, then counted, and never with a stack trace", async () => {
  for (const format of ["text", "json"]) {
    const harness = createHarness();
    const sandbox = await harness.start(["--quiet", "--log-format", format]);
    for (const ending of ["-wal", "-shm"]) rmSync(join(harness.cwd, ".checkout", `sandbox.db${ending}`));
    const ids: string[] = [];
    for (let number = 1; number <= 313; number += 1) {
      const order = JSON.stringify({ order_id: `o-${number}`, price_id: "price_ticket" });
      const headers = { "Idempotency-Key": `key-of-${number}` };
      const failed = await sandbox.request({ path: "/v1/orders", body: order, headers });
      expect(failed.status).toBe(503);
      ids.push(String(failed.headers["X-Request-Id"]));
    }
    harness.clock.advance(60_000);
    const { stderr } = await sandbox.stop();
    const lines = stderr.split("\n").filter((line) => line !== "");
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain(ids[0]);
    expect(lines[1]).toContain(ids[0]);
    const { sentence } = storageFailure("database_changed");
    expect(lines.every((line) => line.includes(sentence))).toBe(true);
    if (format === "text") expect(lines[1]).toMatch(/\b312\b.* 12:00:00\.000Z\b/);
    else
      expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
        { failure: "database_changed", request_id: ids[0] },
        { failure: "database_changed", failed_more: 312, since: "2026-01-15T12:00:00.000Z" },
      ]);
  }
});

test("repetitions of each kind of failure are counted separately, until the failure ends", () => {
  const { clock } = createHarness();
  const written: string[] = [];
  const stream = new Writable({
    write: (text: Buffer, _, done) => {
      written.push(String(text));
      done();
    },
  });
  const { report, flush } = createFailureLog(clock, { format: "json", stream });
  const logged = (): unknown[] => written.splice(0).map((line) => JSON.parse(line));
  const time = (second: number) => `2026-01-15T12:00:${String(second).padStart(2, "0")}.000Z`;
  const first = (at: number, id: string, failure: string) => ({ time: time(at), failure, request_id: id });
  const more = (at: number, id: string, failure: string, failed: number, since: number) => ({
    time: time(at),
    failure,
    failed_more: failed,
    since: time(since),
    first_request_id: id,
  });
  const disk = (code: string): Error => Object.assign(new Error(`${code}, write`), { code });
  const [full, broken] = [disk("SQLITE_FULL"), disk("EIO")];
  const bugs = [1, 2].map((number) => new TypeError(`${number} is no order`));
  for (let round = 0; round < 3; round += 1) {
    report(`full-${round}`, full);
    report(`broken-${round}`, broken);
    bugs.slice(0, 1).forEach((bug) => report(`bug-${round}`, bug));
    clock.advance(1000);
  }
  report("other-bug", bugs[1]);
  report("thrown", "a text");
  expect(logged()).toMatchObject([
    first(0, "full-0", "disk_full"),
    first(0, "broken-0", "disk_io_error"),
    { ...first(0, "bug-0", "internal_error"), stack: expect.stringMatching(/^TypeError: 1 is no order\n/) },
    { ...first(3, "thrown", "internal_error"), message: "a text" },
  ]);
  clock.advance(7000);
  expect(logged()).toMatchObject([
    more(10, "full-0", "disk_full", 2, 0),
    more(10, "broken-0", "disk_io_error", 2, 0),
    { ...more(10, "bug-0", "internal_error", 3, 0), message: "1 is no order" },
  ]);
  report("full-3", full);
  clock.advance(10_000);
  expect(logged()).toMatchObject([more(20, "full-0", "disk_full", 1, 10)]);
  clock.advance(10_000);
  for (const id of ["full-4", "full-5", "full-6"]) report(id, full);
  flush();
  flush();
  clock.advance(60_000);
  expect(logged()).toMatchObject([first(30, "full-4", "disk_full"), more(30, "full-4", "disk_full", 2, 30)]);
});

test("an unusable path is reported as unusable, not as a bug", async () => {
  const cwd = tempFolder();
  const long = "x".repeat(300);
  const rows = [
    ["sandbox", "start", "--json", "--dir", long],
    ["idempotency", "list", "--json", "--dir", long],
    ["whoami", "--json", "--dir", long],
  ];
  for (const args of rows) {
    const { code, stdout, stderr } = await runHere(args, { cwd });
    expect([args, code]).toEqual([args, 1]);
    expect(stdout + stderr).toContain('"path_not_usable"');
  }
});

test("reading a missing file returns undefined, and other failures throw", () => {
  const { files } = REAL;
  const folder = tempFolder();
  files.write(join(folder, "file"), "content");
  expect(files.read(join(folder, "file"))).toBe("content");
  for (const missing of ["nothing", "nothing/below", "file/below"]) {
    expect(files.read(join(folder, missing))).toBeUndefined();
    expect(files.readBytes(join(folder, missing))).toBeUndefined();
  }
  expect(() => files.read(folder)).toThrow(FileRefused);
  expect(() => files.read(join(folder, "x".repeat(300)))).toThrow(/ENAMETOOLONG/);
  expect(files.list(folder)).toEqual(["file"]);
});
