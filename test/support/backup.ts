import { execFile } from "node:child_process";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { blocksIn } from "./documents.ts";
import { tempFolder } from "./temp-folder.ts";

const LIBRARY = join(import.meta.dirname, "../../node_modules/better-sqlite3");

/**
 * Backs up a folder's `.checkout` with the commands of a page, while its sandbox runs. Returns a folder with the backup
 * as its `.checkout`. `sqlite3` runs its statement with better-sqlite3, which is installed on every machine.
 */
export async function backUpByPage(page: "docs/team.md" | "docs/hosted.md", cwd: string): Promise<string> {
  const script = blocksIn("sh").find((block) => block.page === page && block.code.startsWith("mkdir -m 700"));
  const bin = tempFolder();
  const run = `const [, path, sql] = process.argv; new (require(${JSON.stringify(LIBRARY)}))(path, { readonly: true }).exec(sql);`;
  writeFileSync(join(bin, "sqlite3"), `#!/bin/sh\nexec '${process.execPath}' -e '${run}' -- "$@"\n`, {
    mode: 0o755,
  });
  const env = { PATH: `${bin}:${process.env["PATH"] ?? ""}` };
  await promisify(execFile)("sh", ["-ec", script?.code ?? "exit 1"], { cwd, env });
  const restored = tempFolder();
  renameSync(join(cwd, "backup"), join(restored, ".checkout"));
  return restored;
}
