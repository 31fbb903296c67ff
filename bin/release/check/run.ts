import { execFileSync } from "node:child_process";
import { DEBIAN } from "../platforms.ts";

/** Returns the output. Throws with the last lines of the output if the program fails. */
export function run(program: string, words: readonly string[], cwd = "."): string {
  try {
    return execFileSync(program, words, { cwd, stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 28 })
      .toString()
      .trim();
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { readonly stdout?: Buffer; readonly stderr?: Buffer };
    const lastLines = `${String(stdout)}\n${String(stderr)}`.trim().split("\n").slice(-12).join("\n    ");
    throw new Error(`${program} ${words.join(" ")} failed:\n    ${lastLines}`, { cause: error });
  }
}

export function makeRoot(root: string, options: readonly string[], packages: readonly string[]): void {
  run("mmdebstrap", ["--quiet", ...options, `--include=${packages.join(",")}`, DEBIAN.suite, root]);
}
