import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDatabase } from "../../src/store/connection/open-database.ts";
import { checkDatabase } from "../../src/store/connection/database-check.ts";
import { openRequestFile, REQUESTS_FILE } from "../../src/store/request/request-file.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import { openImage, SNAPSHOT_FILE, writeChecksum } from "../../src/store/snapshot/image.ts";
import { openStore } from "../../src/store/store.ts";
import { olderFiles, type OlderFile } from "../support/older-formats.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { inOrder } from "../support/in-order.ts";

const BASELINE = 30;
const FILES = olderFiles();
/** Offset of the schema version in a SQLite file. */
const FORMAT_OFFSET = 60;
const scheduler = { soon: setImmediate, after: () => undefined };

/** A file of every schema version that was used, and a file of each kind with the last version before the baseline. */
function allOlder(): readonly OlderFile[] {
  const last = ["sandbox.db", "requests.db", "old.snapshot"].flatMap((name) => {
    const newest = FILES.findLast((one) => one.name === name);
    if (newest === undefined) return [];
    const content = Buffer.from(newest.content);
    content.writeInt32BE(BASELINE - 1, FORMAT_OFFSET);
    const sealed = name === "old.snapshot" ? writeChecksum(content) : content;
    return [{ name, format: BASELINE - 1, content: sealed, log: newest.log }];
  });
  return [...FILES, ...last];
}

/** Puts a file with its log into a new folder, under the name by which it is opened. */
function place({ content, log }: OlderFile, name: string): string {
  const path = join(tempFolder(), name);
  writeFileSync(path, content);
  if (log !== undefined) writeFileSync(`${path}-wal`, log);
  return path;
}

/** Every file of a folder, with its bytes. */
function filesIn(path: string): readonly (readonly [string, string])[] {
  const folder = join(path, "..");
  return readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "base64")]);
}

test("the fixtures have a file of every schema version that a development version used", () => {
  const formats = new Map<string, number[]>();
  for (const { name, format, content } of FILES) {
    expect([name, content.readInt32BE(FORMAT_OFFSET)]).toEqual([name, format]);
    const kind = name.endsWith(".backup") ? "backup" : name;
    formats.set(kind, [...(formats.get(kind) ?? []), format]);
  }
  const span = (from: number, to: number): number[] =>
    Array.from({ length: to - from + 1 }, (_, index) => from + index);
  expect(Object.fromEntries(formats)).toEqual({
    "sandbox.db": span(10, 23),
    // The backup that is written before a file is migrated.
    backup: span(10, 22),
    "requests.db": span(10, 12),
    // Snapshots were introduced with schema version 20 of sandbox.db.
    "old.snapshot": span(20, 23),
  });
});

test("a database or backup of an older schema version is refused as written by a development version, and no byte changes", () => {
  const databases = allOlder().filter(({ name }) => name !== "old.snapshot");
  for (const file of databases) {
    const isLog = file.name === "requests.db";
    const path = place(file, isLog ? "requests.db" : "sandbox.db");
    const before = filesIn(path);
    const kind = isLog ? REQUESTS_FILE : SANDBOX_FILE;
    const refusal = {
      reason: "development_version",
      message: expect.stringMatching(inOrder(path, file.format, BASELINE)),
      remedy: expect.stringMatching(inOrder(kind.filesToMoveAway, "--dir")),
    };
    const openers = [
      () => openDatabase(path, { kind }),
      // As doctor does.
      () => checkDatabase(path, { kind, scratchFolder: join(tempFolder(), "scratch") }),
      () => (isLog ? openRequestFile(path, {}) : openStore(path, { nativeBinding: undefined, scheduler })),
    ];
    for (const open of openers) {
      const opened = open();
      expect([file.name, file.format, opened.ok ? "opened" : opened.refusal]).toEqual([
        file.name,
        file.format,
        refusal,
      ]);
    }
    expect(filesIn(path)).toEqual(before);
  }
  expect(databases).toHaveLength(14 + 13 + 3 + 2);
});

test("a snapshot of an older schema version is refused as written by a development version", () => {
  const snapshots = allOlder().filter(({ name }) => name === "old.snapshot");
  for (const { format, content } of snapshots) {
    const bytes = Buffer.from(content);
    const opened = openImage(bytes, { kind: SNAPSHOT_FILE, nativeBinding: undefined });
    expect(opened.ok ? "opened" : opened.refusal).toMatch(inOrder(format, BASELINE));
    expect(bytes.equals(content)).toBe(true);
  }
  expect(snapshots).toHaveLength(4 + 1);
});
