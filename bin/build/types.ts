import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { writeOutTypes } from "./shape-types.ts";

/** Files below src/ whose types are joined, in this order; the last is the file that users import. */
export type TypeFiles = readonly string[];

/** Citations of rules and decisions mean nothing to users of the package. */
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

/** The joined file has no module to re-export from, so `export type *` becomes a list of names. */
function nameExports(text: string, folder: string, part: string): string {
  return text.replaceAll(/^export type \* from "(.*)\.ts";$/gm, (_, path: string) => {
    const exported = typesIn(folder, join(dirname(part), path));
    const names = Array.from(exported.matchAll(/^export (?:type|interface) (\w+)/gm), ([, name]) => name);
    if (names.length !== exported.match(/^export /gm)?.length)
      throw new Error(`${path} must export only types, by \`export type\` or \`export interface\``);
    return `export type { ${names.join(", ")} };`;
  });
}
