import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { tempFolder } from "./temp-folder.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Creates a project with this built package, further installed packages, and these files. */
export function writeProject(
  files: Readonly<Record<string, string>>,
  packages: readonly string[] = [],
): string {
  const folder = tempFolder();
  const modules = join(folder, "node_modules");
  mkdirSync(modules);
  symlinkSync(ROOT, join(modules, "hosted-checkout"), "junction");
  for (const name of packages) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", name), join(modules, name), "junction");
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}
