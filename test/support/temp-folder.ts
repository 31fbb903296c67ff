import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

/** A new folder, which is removed at the end of the test. */
export function tempFolder(): string {
  checkNothingAbove();
  const folder = mkdtempSync(join(tmpdir(), "checkout-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Files that commands search for in parent folders: a test would find them instead of the files in its own folder. */
const LOOKED_FOR = [".checkout", "checkout.config.json"];

function checkNothingAbove(): void {
  for (let folder = tmpdir(); ; folder = dirname(folder)) {
    const found = LOOKED_FOR.map((name) => join(folder, name)).find((path) => existsSync(path));
    if (found !== undefined)
      throw new Error(`${found} is above the folders of tests, and would be found by them: remove it`);
    if (folder === dirname(folder)) return;
  }
}
