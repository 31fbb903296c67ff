import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { writeOutTypes } from "./shape-types.ts";

/** The files below src/ with the types of an import; the last is the imported file itself. */
export type TypeFiles = readonly string[];

/** Matches citations of rules and decisions, which would mean nothing in the types of the package. */
const CITATION = / \((?:interface|decisions?) \d+(?:(?:,| and) \d+)*\)/g;

export function writeTypes(folder: string): void {
  const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
  const options = ["--project", "tsconfig.types.json", "--outDir", folder];
  execFileSync(process.execPath, [tsc, ...options], { stdio: "inherit" });
}

export function typesIn(folder: string, name: string): string {
  return readFileSync(join(folder, `${name}.d.ts`), "utf8");
}

export function typesOf(folder: string, parts: TypeFiles): string {
  const texts = parts.map((part) => {
    const text = writeOutTypes(typesIn(folder, part))
      .replaceAll(/^(?:import .*|export \{\};)\n/gm, "")
      .replaceAll(CITATION, "");
    return part === parts.at(-1)
      ? nameExports(text, folder, part).replaceAll(/^(export .*) from ".*";$/gm, "$1;")
      : text.replaceAll(/^export /gm, "");
  });
  return texts.join("");
}

/** Replaces `export type *` by the names of the types that the file exports. */
function nameExports(text: string, folder: string, part: string): string {
  return text.replaceAll(/^export type \* from "(.*)\.ts";$/gm, (_, path: string) => {
    const exported = typesIn(folder, join(dirname(part), path));
    const names = Array.from(exported.matchAll(/^export (?:type|interface) (\w+)/gm), ([, name]) => name);
    if (names.length !== exported.match(/^export /gm)?.length)
      throw new Error(`${path} must export only types, by \`export type\` or \`export interface\``);
    return `export type { ${names.join(", ")} };`;
  });
}
