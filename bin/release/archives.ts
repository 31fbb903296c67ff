import { execFileSync } from "node:child_process";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { zipSync } from "fflate";
import type { Commit } from "./commit.ts";

/** The path of a download without its extension, and the commit from which it is built. */
type Download = { readonly target: string; readonly commit: Commit };

/**
 * Compresses an executable for download: with `xz`, which compresses best, and for Windows with `zip`, which Windows
 * and its package managers can open without another program.
 */
export function compress(executable: string, { target, commit }: Download): void {
  if (executable.endsWith(".exe")) {
    const content = readFileSync(executable);
    writeFileSync(`${target}.zip`, zipSync({ "checkout.exe": [content, { level: 9, mtime: commit.time }] }));
    return;
  }
  const [input, output] = [openSync(executable, "r"), openSync(`${target}.xz`, "w")];
  try {
    // Compresses in blocks of a fixed size, so that the bytes do not depend on the number of processors.
    execFileSync("xz", ["--stdout", "--threads=2", "--block-size=64MiB"], {
      stdio: [input, output, "inherit"],
    });
  } finally {
    closeSync(input);
    closeSync(output);
  }
}
