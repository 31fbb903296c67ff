import Database from "better-sqlite3";
import { writeChecksum } from "../../src/store/snapshot/image.ts";

/** A snapshot that another program has changed, with a checksum that matches the change. */
export function rewrittenSnapshot(whole: Uint8Array, work: (copy: Database.Database) => void): Buffer {
  const copy = new Database(Buffer.from(whole));
  copy.pragma("foreign_keys = OFF");
  work(copy);
  const bytes = copy.serialize();
  copy.close();
  return writeChecksum(bytes);
}

/** A snapshot changed while its triggers are dropped, so that immutable rows can be changed. */
export function changedSnapshot(whole: Uint8Array, work: (copy: Database.Database) => void): Buffer {
  return rewrittenSnapshot(whole, (copy) => {
    const triggers = copy
      .prepare<[], { readonly name: string; readonly sql: string }>(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'",
      )
      .all();
    for (const { name } of triggers) copy.exec(`DROP TRIGGER ${name}`);
    work(copy);
    for (const { sql } of triggers) copy.exec(sql);
  });
}
