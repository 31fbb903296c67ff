/**
 * Builds a release in dist/release/. `--describe` writes only the sums and manifests of the existing files; `--notes`
 * prints the notes of this version.
 */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { notesOf } from "./notes.ts";
import { describeRelease, makeRelease, VERSION } from "./release.ts";

const flag = { type: "boolean", default: false } as const;
const { values } = parseArgs({ options: { describe: flag, notes: flag } });

try {
  if (values.notes) process.stdout.write(notesOf(readFileSync("CHANGELOG.md", "utf8"), VERSION));
  else {
    if (!values.describe) await makeRelease((step) => console.error(step));
    for (const { name, sha256 } of describeRelease()) console.log(`${sha256}  ${name}`);
  }
} catch (error) {
  console.error(`✗ ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
