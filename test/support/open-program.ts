import { closeSync, openSync } from "node:fs";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import { openWatched } from "../../src/store/connection/watched-database.ts";

/** Opens a database with the named number of descriptors left, or with all, and prints why it cannot, or "opened". */
const [path = "", left] = process.argv.slice(2);
const taken: number[] = [];
if (left !== undefined) {
  try {
    for (;;) taken.push(openSync("/dev/null", "r"));
  } catch {
    for (const file of taken.splice(0, Number(left))) closeSync(file);
  }
}
const opened = openWatched(path, { kind: SANDBOX_FILE });
for (const file of taken) closeSync(file);
if (opened.ok) opened.value.close();
process.stdout.write(opened.ok ? "opened\n" : `${opened.refusal.reason} ${opened.refusal.message}\n`);
