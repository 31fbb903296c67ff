import { readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import type { FileKind } from "../../src/store/connection/database.ts";
import { openDatabase } from "../../src/store/connection/open-database.ts";

/**
 * A file of a schema version from before the baseline; `log`: the write-ahead log that a killed process left beside it.
 */
export type OlderFile = {
  /** `sandbox.db`, its backup before a migration, `requests.db`, or `old.snapshot`. */
  readonly name: string;
  readonly format: number;
  readonly content: Buffer;
  readonly log: Buffer | undefined;
};

type Packed = { readonly file: string; readonly format: number } & {
  readonly content: string;
  readonly log?: string;
};

const PACKED = join(import.meta.dirname, "../../fixtures/older-formats.json.br");

/**
 * A file of each schema version, written by the last program with the migrations of that version; the log begins with a
 * later commit.
 */
export function olderFiles(): readonly OlderFile[] {
  const packed = JSON.parse(brotliDecompressSync(readFileSync(PACKED)).toString()) as readonly Packed[];
  return packed.map(({ file, format, content, log }) => ({
    name: file,
    format,
    content: Buffer.from(content, "base64"),
    log: log === undefined ? undefined : Buffer.from(log, "base64"),
  }));
}

/**
 * Writes a database as an earlier version of the program would have left it: with the tables and columns of that
 * version.
 */
export function writeAsEarlier(path: string, earlier: FileKind): void {
  const opened = openDatabase(`${path}.earlier`, { kind: earlier });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const file = opened.value;
  file.pragma("foreign_keys = OFF");
  file.prepare("ATTACH ? AS present").run(path);
  const names = (sql: string): string[] => file.prepare<[], string>(sql).pluck().all();
  const both = `SELECT name FROM main.sqlite_schema WHERE type = 'table'
    INTERSECT SELECT name FROM present.sqlite_schema WHERE type = 'table'`;
  for (const table of names(both)) {
    const columns = names(
      `SELECT name FROM pragma_table_info('${table}', 'main')
       INTERSECT SELECT name FROM pragma_table_info('${table}', 'present')`,
    ).join(", ");
    file.exec(`INSERT OR REPLACE INTO main.${table} (${columns}) SELECT ${columns} FROM present.${table}`);
  }
  file.close();
  for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });
  renameSync(`${path}.earlier`, path);
}
