import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";

/** The files below src/ with the types of an import; the imported file is the last one. */
export type Typed = readonly string[];

/** The types of files below src/, by their names there. */
export type Types = ReadonlyMap<string, string>;

/** Declarations of other kinds of imports. */
const AMBIENT_TYPES: Typed = ["src/web/raw.d.ts", "src/testing/fixtures/runners.d.ts"];

/**
 * The types of files below src/, as tsc writes them. It runs once for all, because it takes longer than all the rest.
 */
export function declarations(folder: string, names: readonly string[]): Types {
  const written = join(folder, "types");
  const config = `${written}.json`;
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    stripInternal: true,
    // `npm run check` checks them: writing them without a check takes half the time.
    noCheck: true,
    rootDir: resolve("src"),
    outDir: resolve(written),
    typeRoots: [resolve("node_modules/@types")],
  };
  const included = {
    include: AMBIENT_TYPES.map((path) => resolve(path)),
    files: [...new Set(names)].map((name) => resolve(`src/${name}.ts`)),
  };
  writeFileSync(config, JSON.stringify({ extends: resolve("tsconfig.json"), ...included, compilerOptions }));
  const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
  execFileSync(process.execPath, [tsc, "--project", config], { stdio: "inherit" });
  const texts = names.map((name) => [name, readFileSync(join(written, `${name}.d.ts`), "utf8")] as const);
  for (const intermediate of [written, config]) rmSync(intermediate, { recursive: true });
  return new Map(texts);
}

/** The types that users see, in one file. */
export function typesOf(types: Types, parts: Typed): string {
  const entry = parts.at(-1) ?? "";
  const texts = parts.map((part) => {
    const text = typesIn(types, part)
      .replaceAll(/^(?:import .*|export \{\};)\n/gm, "")
      .replaceAll(CITED, "");
    return part === entry
      ? text.replaceAll(/^(export .*) from ".*";$/gm, "$1;")
      : text.replaceAll(/^export /gm, "");
  });
  return texts.join("");
}

/** Matches citations of rules and decisions, which the types of the package do not link to. */
const CITED = / \((?:interface|decisions?) \d+(?:(?:,| and) \d+)*\)/g;

/** The types of one file below src/. */
export function typesIn(types: Types, name: string): string {
  const text = types.get(name);
  if (text === undefined) throw new Error(`tsc was not asked for the types of ${name}`);
  return text;
}
