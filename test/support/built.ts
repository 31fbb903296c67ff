import { execFile } from "node:child_process";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const ROOT = join(import.meta.dirname, "../..");
const DIST = join(ROOT, "dist");
const STAMP = ".package.stamp";

/** Copies the output of the last build to a folder, without chunks of older builds and without the executable. */
export function copyBuilt(to: string): void {
  const made = readFileSync(join(DIST, STAMP), "utf8").matchAll(/^[0-9a-f]{64} (.+)$/gm);
  for (const name of [...Array.from(made, ([, path = ""]) => path), STAMP])
    cpSync(join(DIST, name), join(to, name));
}

/** Builds this platform's executable in a folder that is kept, because a build replaces only outdated files. */
export async function builtExecutable(): Promise<{ readonly folder: string; readonly file: string }> {
  const folder = join(ROOT, "node_modules/.cache/executable");
  const words = [join(ROOT, "build.ts"), "--executable", "--out", folder];
  await promisify(execFile)(process.execPath, words, { cwd: ROOT });
  return { folder, file: join(folder, process.platform === "win32" ? "checkout.exe" : "checkout") };
}
