import { spawnSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { openSeenEvents } from "../../src/store/journal/journal.ts";
import { createHarness } from "../support/harness.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** The oldest version of SQLite with all features that the tables use. */
const MIN_VERSION = [3, 37];

/** Runs the machine's sqlite3; returns its output. Throws with its stderr, which any failure writes. */
function sqlite(path: string, words: string, input = ""): string {
  const { status, stdout, stderr } = spawnSync("sqlite3", ["-bail", path, ...(words === "" ? [] : [words])], {
    input,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  if (status !== 0 || stderr !== "") throw new Error(`sqlite3 ${words}: ${stderr}`);
  return stdout;
}

/** The version of the machine's sqlite3; undefined if it is missing or cannot read the files. */
function versionHere(): string | undefined {
  const { stdout } = spawnSync("sqlite3", ["--version"], { encoding: "utf8" });
  const [version = ""] = (stdout ?? "").split(" ");
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [first = 0, second = 0] = MIN_VERSION;
  return major > first || (major === first && minor >= second) ? version : undefined;
}

/** The schema of a database, and all rows of its tables. */
function contentOf(path: string): unknown {
  const database = new Database(path, { readonly: true });
  const schema = database
    .prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name")
    .raw()
    .all();
  const tables = database
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .pluck()
    .all();
  const rows = tables.map((table) => [table, database.prepare(`SELECT * FROM ${table}`).raw().all()]);
  database.close();
  return { schema, rows };
}

test("the machine's sqlite3 can check, copy, dump and restore every database of a used state folder", async ({
  annotate,
}) => {
  const version = versionHere();
  if (version === undefined) {
    await annotate("no sqlite3 from 3.37 on is installed: none was tried");
    return;
  }
  const harness = createHarness();
  const sandbox = await harness.start();
  const done = async (line: string): Promise<void> => {
    const { code, stderr } = await harness.run(line.split(" "));
    expect([line, code, stderr]).toEqual([line, 0, expect.any(String)]);
  };
  await done("endpoints add http://127.0.0.1:3000/hooks");
  await done("orders create --order-id bestellung-é-茶 --price-id price_coffee");
  await done("return-origins add https://shop.example --path /thanks");
  await done("faults add drop --times 3");
  await done("checklist waive duplicates --reason größer");
  expect((await sandbox.request({ path: "/v1/orders/unknown" })).status).toBe(404);
  await done("requests list");
  await done("snapshots create whole --all");
  await sandbox.stop();
  const folder = join(harness.cwd, ".checkout");
  const seen = openSeenEvents(join(folder, "journal.db"), { now: harness.clock.now() });
  if (!seen.ok) throw new Error(seen.refusal.message);
  seen.value.add({ eventId: "event-é", instance: null }, harness.clock.now());
  seen.value.close();

  const names = ["sandbox.db", "journal.db", "requests.db", "snapshots/whole.snapshot"];
  for (const name of names) {
    const path = join(folder, name);
    const copies = tempFolder();
    const [vacuumed, read] = [join(copies, "vacuumed.db"), join(copies, "read.db")];
    const before = contentOf(path);
    expect([name, sqlite(path, "PRAGMA integrity_check")]).toEqual([name, "ok\n"]);
    sqlite(path, `VACUUM INTO '${vacuumed}'`);
    sqlite(read, "", sqlite(path, ".dump"));
    for (const copy of [vacuumed, read]) {
      expect([name, contentOf(copy)]).toEqual([name, before]);
      expect([name, sqlite(copy, "PRAGMA integrity_check; PRAGMA foreign_key_check")]).toEqual([
        name,
        "ok\n",
      ]);
    }
  }
  for (const name of names.slice(0, 3)) {
    const path = join(folder, name);
    const copy = join(tempFolder(), name);
    sqlite(path, `VACUUM INTO '${copy}'`);
    copyFileSync(copy, path);
  }
  const again = await harness.start();
  const { stdout } = await harness.run(["orders", "list", "--json"]);
  expect(JSON.parse(stdout)).toMatchObject({ checkouts: [{ order_id: "bestellung-é-茶" }] });
  expect((await again.stop()).code).toBe(0);
  await annotate(`sqlite3 ${version}: ${names.join(", ")}`);
});
