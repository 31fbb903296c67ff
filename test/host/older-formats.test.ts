import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { JOURNAL_FILE } from "../../src/store/journal/journal.ts";
import { REQUESTS_FILE } from "../../src/store/request/request-file.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import { createHarness, type Harness } from "../support/harness.ts";
import { olderFiles, writeAsEarlier, type OlderFile } from "../support/older-formats.ts";
import { inOrder } from "../support/in-order.ts";

const START = ["sandbox", "start", "--json", "--port", "0"];
const CREATE = ["orders", "create", "--order-id", "o-1", "--price-id", "price_coffee"];
/** Commands that use the state of a folder whose sandbox does not run. */
const OPENERS = [
  START,
  ["snapshots", "list", "--json"],
  ["snapshots", "create", "mine", "--json"],
  ["snapshots", "restore", "old", "--json"],
  ["snapshots", "remove", "old", "--json"],
  ["sandbox", "reset", "--yes", "--json"],
];
const OLDER = olderFiles();

/** The older files whose names match. */
function olderOf(name: RegExp): readonly OlderFile[] {
  return OLDER.filter((one) => name.test(one.name));
}

/** The folder of a stopped sandbox with an order and a journal. */
async function servedFolder(): Promise<{ readonly harness: Harness; readonly folder: string }> {
  const harness = createHarness();
  const sandbox = await harness.start(["--port", "0"]);
  expect((await harness.run(CREATE)).code).toBe(0);
  await sandbox.stop();
  return { harness, folder: join(harness.cwd, ".checkout") };
}

/** Replaces a file and its log. */
function replace(path: string, { content, log }: OlderFile): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });
  writeFileSync(path, content, { mode: 0o600 });
  if (log !== undefined) writeFileSync(`${path}-wal`, log, { mode: 0o600 });
}

/** Every file of a folder, with its bytes. */
function filesIn(folder: string): readonly (readonly [string, string])[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => [join(parentPath, name), readFileSync(join(parentPath, name), "base64")]);
}

function json(text: string): unknown {
  return JSON.parse(text);
}

test("every command that opens the state refuses a folder of an unreleased schema version, and changes nothing in it", async () => {
  const { harness, folder } = await servedFolder();
  const credentials = join(folder, "credentials.json");
  const present = readFileSync(credentials, "utf8");
  const { stores } = json(present) as {
    readonly stores: Readonly<Record<string, { readonly api_key: string }>>;
  };
  const [[storeId, { api_key: apiKey }] = ["", { api_key: "" }]] = Object.entries(stores);
  mkdirSync(join(folder, "snapshots"), { mode: 0o700 });
  const [snapshot] = olderOf(/snapshot/);
  writeFileSync(join(folder, "snapshots/old.snapshot"), snapshot?.content ?? "", { mode: 0o600 });
  for (const file of olderOf(/^sandbox\.db/)) {
    replace(join(folder, "sandbox.db"), file);
    // Up to schema version 13, credentials.json described one store.
    const kept = file.format <= 13 ? JSON.stringify({ store_id: storeId, api_key: apiKey }) : present;
    writeFileSync(credentials, kept);
    const before = filesIn(folder);
    for (const args of file.log === undefined ? [START] : OPENERS) {
      const { code, stdout, stderr } = await harness.run(args);
      expect([file.name, file.format, args, code, stdout]).toEqual([file.name, file.format, args, 1, ""]);
      expect(json(stderr)).toMatchObject({
        error: {
          code: "database_development_version",
          message: expect.stringMatching(inOrder(join(folder, "sandbox.db"), file.format, 30)),
        },
        next: expect.stringMatching(inOrder(SANDBOX_FILE.filesToMoveAway, "--dir")),
      });
      expect(filesIn(folder)).toEqual(before);
    }
    const { code, stdout } = await harness.run(["doctor", "--json"]);
    const { checks } = json(stdout) as { readonly checks: readonly { readonly check: string }[] };
    expect([code, checks.find(({ check }) => check === "sandbox.db")]).toMatchObject([
      1,
      {
        status: "problem",
        found: expect.stringMatching(inOrder(join(folder, "sandbox.db"), file.format, 30)),
      },
    ]);
    expect(filesIn(folder)).toEqual(before);
  }
});

test("the refusal's remedy for an older state folder starts a new sandbox and keeps the journal of sent creates", async () => {
  const { harness, folder } = await servedFolder();
  const [oldest] = olderOf(/^sandbox\.db$/);
  if (oldest === undefined) throw new Error("there is no older file");
  replace(join(folder, "sandbox.db"), oldest);
  const first = JOURNAL_FILE.migrations.slice(0, 1);
  writeAsEarlier(join(folder, "journal.db"), { ...JOURNAL_FILE, migrations: first });
  const sent = (await harness.run(["idempotency", "list", "--json"])).stdout;
  expect(json(sent)).toMatchObject([{ order_id: "o-1", state: "created" }]);
  mkdirSync(`${folder}.away`);
  for (const name of readdirSync(folder))
    if (!name.startsWith("journal.db")) renameSync(join(folder, name), join(`${folder}.away`, name));
  const sandbox = await harness.start(["--port", "0"]);
  expect((await harness.run(["idempotency", "list", "--json"])).stdout).toBe(sent);
  // The create in the journal was sent to a sandbox that no longer exists.
  const created = await harness.run([...CREATE, "--json"]);
  expect([created.code, json(created.stdout)]).toMatchObject([
    0,
    { replayed: false, data: { order_id: "o-1" } },
  ]);
  expect((await sandbox.stop()).code).toBe(0);
});

test("a request log of an older schema version is reported and stays unchanged, and requests still work", async () => {
  for (const file of olderOf(/^requests\.db$/)) {
    const { harness, folder } = await servedFolder();
    const path = join(folder, "requests.db");
    replace(path, file);
    const sandbox = await harness.start(["--port", "0"]);
    expect((await harness.run(CREATE.map((word) => (word === "o-1" ? "o-2" : word)))).code).toBe(0);
    harness.clock.advance(1000);
    const refused = inOrder(path, file.format, 30);
    const listed = await harness.run(["requests", "list", "--json"]);
    expect(listed.stderr).toMatch(refused);
    const doctor = await harness.run(["doctor", "--json"]);
    const { checks } = json(doctor.stdout) as { readonly checks: readonly { readonly check: string }[] };
    expect(checks.find(({ check }) => check === "requests.db")).toMatchObject({
      status: "problem",
      found: expect.stringMatching(refused),
      next: expect.stringMatching(inOrder(REQUESTS_FILE.filesToMoveAway, "--dir")),
    });
    await sandbox.stop();
    const reset = await harness.run(["sandbox", "reset", "--yes"]);
    expect([reset.code, reset.stderr]).toEqual([0, expect.stringMatching(refused)]);
    expect(readFileSync(path).equals(file.content)).toBe(true);
    expect(readFileSync(`${path}-wal`).equals(file.log ?? Buffer.alloc(0))).toBe(true);
    for (const end of ["", "-wal"]) renameSync(path + end, `${path}.moved${end}`);
    const again = await harness.start(["--port", "0"]);
    expect((await harness.run(["requests", "list", "--json"])).stderr).toBe("");
    await again.stop();
  }
});

test("a snapshot of an older schema version is not restored, and is listed with the reason, with and without a running sandbox", async () => {
  const { harness, folder } = await servedFolder();
  mkdirSync(join(folder, "snapshots"), { mode: 0o700 });
  const path = join(folder, "snapshots/old.snapshot");
  const elsewhere = join(harness.cwd, "taken-along.snapshot");
  const sandbox = join(folder, "sandbox.db");
  for (const { format, content } of olderOf(/snapshot/)) {
    writeFileSync(path, content, { mode: 0o600 });
    copyFileSync(path, elsewhere);
    const why = inOrder(format, 30);
    for (const runs of [false, true]) {
      const served = runs ? await harness.start(["--port", "0"]) : undefined;
      const rows = rowsOf(sandbox);
      for (const args of [["old"], ["old", "--all"], ["other", "--file", elsewhere]]) {
        const restored = await harness.run(["snapshots", "restore", ...args, "--json"]);
        expect([args, restored.code, json(restored.stderr)]).toMatchObject([
          args,
          1,
          {
            error: {
              code: "invalid_parameter",
              message: expect.stringMatching(why),
            },
            next: expect.stringContaining("checkout snapshots create <name>"),
          },
        ]);
        expect(rowsOf(sandbox)).toEqual(rows);
      }
      const listed = await harness.run(["snapshots", "list", "--json"]);
      expect(json(listed.stdout)).toMatchObject({
        snapshots: [
          { name: "old", store_id: null, taken_at: null, format: null, problem: expect.stringMatching(why) },
        ],
      });
      await served?.stop();
    }
    expect(readFileSync(path).equals(content)).toBe(true);
  }
});

function rowsOf(path: string): unknown {
  const database = new Database(path, { readonly: true });
  const rows = ["stores", "checkouts", "events"].map((table) =>
    database.prepare(`SELECT * FROM ${table}`).all(),
  );
  database.close();
  return rows;
}
