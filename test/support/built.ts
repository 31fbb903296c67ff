import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";

const DIST = join(import.meta.dirname, "../../dist");
const STAMP = ".package.stamp";

/** Copies what the last build has made to a folder: no chunks of older builds, no executable. */
export function copyBuilt(to: string): void {
  const made = readFileSync(join(DIST, STAMP), "utf8").matchAll(/^[0-9a-f]{64} (.+)$/gm);
  for (const name of [...Array.from(made, ([, path = ""]) => path), STAMP])
    cpSync(join(DIST, name), join(to, name));
}
