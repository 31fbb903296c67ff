import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "./temp-folder.ts";

/**
 * The command that opens URLs on a desktop, replaced by a script that records its pid and its argument, and then
 * runs `more`.
 */
export function fakeBrowser(more = "") {
  const folder = tempFolder();
  const [notes, pid] = [join(folder, "opened"), join(folder, "pid")];
  const opener = join(folder, process.platform === "darwin" ? "open" : "xdg-open");
  writeFileSync(opener, `#!/bin/sh\necho $$ > '${pid}'\necho "$@" >> '${notes}'\n${more}\n`);
  chmodSync(opener, 0o755);
  const opened = (): string[] => (existsSync(notes) ? readFileSync(notes, "utf8").trimEnd().split("\n") : []);
  return { folder, opened, pid: () => Number(readFileSync(pid, "utf8")) };
}
