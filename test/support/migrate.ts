import type { FileKind } from "../../src/store/connection/database.ts";
import { openDatabase } from "../../src/store/connection/open-database.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";

/**
 * The next schema versions of `sandbox.db`, as a release might have them: each migration makes a table and fills it.
 */
export const NEXT_VERSIONS: FileKind = {
  ...SANDBOX_FILE,
  migrations: [
    ...SANDBOX_FILE.migrations,
    `ALTER TABLE checkouts ADD COLUMN label TEXT;
     CREATE TABLE labels (checkout_id TEXT PRIMARY KEY, label TEXT NOT NULL) STRICT;
     INSERT INTO labels SELECT id, 'label of ' || order_id FROM checkouts;`,
    `CREATE TABLE copies (key TEXT PRIMARY KEY, body TEXT NOT NULL, filler BLOB NOT NULL) STRICT;
     INSERT INTO copies SELECT key, body, zeroblob(100000) FROM idempotency_keys;`,
  ],
};

/** Opens a file, which migrates it to the last of these schema versions. */
export function migrateToLastVersion(path: string): void {
  const opened = openDatabase(path, { kind: NEXT_VERSIONS, pid: process.pid });
  if (opened.ok) opened.value.close();
  else {
    console.error(`${opened.refusal.reason}: ${opened.refusal.message}`);
    process.exitCode = 1;
  }
}
