import { execFileSync } from "node:child_process";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { zipSync } from "fflate";
import type { Commit } from "./commit.ts";

/** `target`: the path of the download without its extension. */
type Download = { readonly target: string; readonly commit: Commit };

/** Uses xz, which compresses best, but zip for Windows, where xz needs another program. */
export function compress(executable: string, { target, commit }: Download): void {
  if (executable.endsWith(".exe")) {
    const content = readFileSync(executable);
    writeFileSync(`${target}.zip`, zipSync({ "checkout.exe": [content, { level: 9, mtime: commit.time }] }));
    return;
  }
  const [input, output] = [openSync(executable, "r"), openSync(`${target}.xz`, "w")];
  try {
    // A fixed block size, so that the bytes do not depend on the number of processors.
    execFileSync("xz", ["--stdout", "--threads=2", "--block-size=64MiB"], {
      stdio: [input, output, "inherit"],
    });
  } finally {
    closeSync(input);
    closeSync(output);
  }
}
