import { closeSync, openSync } from "node:fs";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import { causeOfError } from "../../src/store/connection/storage-failure.ts";
import { openWatchedDatabase, type WatchedDatabase } from "../../src/store/connection/watched-database.ts";

/**
 * Opens and reads the named databases one after the other; prints "opened" or the error for each. A path may end with
 * "=" and the number of file descriptors that are free while it is opened; default: all.
 */
for (const argument of process.argv.slice(2)) {
  const [path = "", left] = argument.split("=");
  const taken: number[] = [];
  if (left !== undefined) {
    try {
      for (;;) taken.push(openSync("/dev/null", "r"));
    } catch {
      for (const file of taken.splice(0, Number(left))) closeSync(file);
    }
  }
  const opened = openWatchedDatabase(path, { kind: SANDBOX_FILE });
  for (const file of taken) closeSync(file);
  process.stdout.write(
    `${opened.ok ? read(opened.value) : `${opened.refusal.reason} ${opened.refusal.message}`}\n`,
  );
}

/** Reads rows as a command does, which closes the database before its error is caught. */
function read({ connection, close }: WatchedDatabase): string {
  try {
    for (const table of ["stores", "checkouts", "events"])
      Array.from(connection.prepare(`SELECT * FROM ${table}`).iterate());
    close();
    return "opened";
  } catch (error) {
    close();
    const cause = causeOfError(error);
    return cause === undefined ? String(error) : `${cause.failure.code} ${cause.detail}`;
  }
}
