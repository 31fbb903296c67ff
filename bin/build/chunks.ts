import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { build, type ImportKind, type Metafile, type Plugin } from "esbuild";
import { ALIAS, common } from "./bundle.ts";
import { LAZY_START, loadLazily } from "./lazily.ts";
import { CHUNKS } from "./output.ts";

/** The first file of the program, with the chunks that every start loads. */
export const ENTRY = "checkout.js";

/** Loads a chunk of the same file, of the first script and of the rest of an executable. No chunk may use the names. */
export const LOADERS = { part: "__chunkPart", entry: "__chunkEntry", rest: "__chunkRest" } as const;

/** Matches each use of a name of a loader. */
const LOADER = new RegExp(`\\b(?:${Object.values(LOADERS).join("|")})\\b`);

/** The beginning of a file with several chunks: loads one of them, once, as `require` does. */
const JOINED = `"use strict";
const loaded = new Map();
const ${LOADERS.part} = (module.exports = (name) => {
  let own = loaded.get(name);
  if (own === undefined) {
    loaded.set(name, (own = { exports: {} }));
    parts[name](own, own.exports);
  }
  return own.exports;
});
const parts = {
`;

/** The file of all other chunks of an executable. */
export const REST = "program.cjs";

/** The import of another chunk. */
const REQUIRE = /require\("\.\/([\w-]+\.js)"\)/g;

/** Chunks are joined into one file if at least this share of their users, lazily loaded parts, is the same. */
const ALIKE = 0.5;
/** A larger chunk stays a separate file, because reading it takes as long as opening it. */
const MAX_JOINED_BYTES = 20_000;

/**
 * better-sqlite3 becomes part of the program, because resolving and opening its thirteen files takes longer than
 * running them; only its native addon, and the file that finds the addon, stay in the installed package.
 */
const packagedAddon: Plugin = {
  name: "addon of the installed package",
  setup: (bundler) => {
    bundler.onResolve({ filter: /^\.\/binding$/ }, ({ path, importer }) =>
      importer.endsWith(join("better-sqlite3", "lib", "index.js")) ? { path, namespace: ADDON } : undefined,
    );
    bundler.onLoad({ filter: /.*/, namespace: ADDON }, () => ({ contents: FIND_ADDON, loader: "js" }));
  },
};

const ADDON = "addon";
const FIND_ADDON = `
const { dirname, join } = require("node:path");
const installed = dirname(require.resolve("better-sqlite3"));
module.exports = require(join(installed, "binding.js"));
`;

/**
 * Makes the program in a folder: one small file for each command, so that a start reads only the code that it runs.
 */
export async function buildChunks(folder: string): Promise<void> {
  const program = await splitProgram(folder, [packagedAddon]);
  writeChunks(folder, joinChunks(program, groupChunks(program.outputs)));
  writeFileSync(join(folder, "package.json"), '{ "type": "commonjs" }\n');
}

/**
 * The program of an executable: the text of the chunks that every start loads, and of all others. They require each
 * other as the files `ENTRY` and `REST` of one folder.
 */
export async function buildTwoScripts(
  folder: string,
): Promise<{ readonly start: string; readonly rest: string }> {
  const program = await splitProgram(folder, []);
  const first = groupChunks(program.outputs).get(ENTRY) ?? [];
  const others = [...program.chunks.keys()].filter((name) => !first.includes(name));
  const groups = new Map([
    [ENTRY, first],
    [REST, others],
  ]);
  const texts = joinChunks(program, groups, { isCompiledAtOnce: false });
  return { start: texts.get(ENTRY) ?? "", rest: texts.get(REST) ?? "" };
}

type Program = {
  readonly outputs: Metafile["outputs"];
  /** The chunks by name, as CommonJS. */
  readonly chunks: ReadonlyMap<string, string>;
};

/**
 * Splits the program into chunks. esbuild splits only ES modules, but Node loads CommonJS faster, so the second pass
 * converts each chunk.
 */
async function splitProgram(folder: string, plugins: readonly Plugin[]): Promise<Program> {
  const [esm, cjs] = [join(folder, "esm"), join(folder, "cjs")];
  const { outputs } = (
    await build({
      ...common,
      entryPoints: { checkout: "bin/main.ts" },
      outdir: esm,
      splitting: true,
      format: "esm",
      chunkNames: "chunk-[hash]",
      plugins: [...common.plugins, ...plugins],
      alias: ALIAS,
      metafile: true,
    })
  ).metafile;
  // Without their own "type", the chunks would be read as Node's ES modules, whose default export is the whole module.
  writeFileSync(join(esm, "package.json"), "{}\n");
  await build({
    ...common,
    bundle: false,
    plugins: [],
    entryPoints: Object.keys(outputs),
    outdir: cjs,
    format: "cjs",
    supported: { "dynamic-import": false },
    banner: { js: LAZY_START },
  });
  const names = Object.keys(outputs).map((path) => basename(path));
  const chunks = new Map(
    names.map(
      (name) => [name, loadLazily(withoutLoaderNames(readFileSync(join(cjs, name), "utf8")))] as const,
    ),
  );
  for (const intermediate of [esm, cjs]) rmSync(intermediate, { recursive: true });
  return { outputs, chunks };
}

/** Refuses a chunk that has a name of a loader: a variable of this name would be called in place of the loader. */
export function withoutLoaderNames(chunk: string): string {
  const [name] = LOADER.exec(chunk) ?? [];
  if (name !== undefined) throw new Error(`a source uses the name ${name}, which the build needs: rename it`);
  return chunk;
}

/**
 * The chunks are in a folder named after their hash: after another build, a running program still loads the chunks of
 * its own build. A package has only the chunks of its own build.
 */
function writeChunks(folder: string, texts: ReadonlyMap<string, string>): void {
  const chunks = [...texts].filter(([name]) => name !== ENTRY);
  const hash = createHash("sha256").update(JSON.stringify(chunks)).digest("hex");
  const own = `${CHUNKS}${hash.slice(0, 16)}`;
  mkdirSync(join(folder, own));
  for (const [name, text] of chunks)
    writeFileSync(
      join(folder, own, name),
      text.replaceAll(`require("./${ENTRY}")`, `require("../${ENTRY}")`),
    );
  const entry = texts.get(ENTRY) ?? "";
  writeFileSync(join(folder, ENTRY), entry.replaceAll(REQUIRE, `require("./${own}/$1")`));
  writeFileSync(join(folder, ".npmignore"), `/${CHUNKS}*/\n!/${own}/\n`);
}

/**
 * esbuild makes a chunk for each set of commands that share a module: dozens of files with a few lines, and opening a
 * file takes longer than reading it. Chunks that the first file always loads are put into it, and small chunks that
 * mostly the same commands need into one file. Each is still a separate module, which runs on first use.
 */
function joinChunks(
  { chunks }: Program,
  groups: Groups,
  { isCompiledAtOnce = true } = {},
): ReadonlyMap<string, string> {
  const groupOf = new Map(
    [...groups].flatMap(([group, names]) => names.map((name) => [name, group] as const)),
  );
  const source = (name: string, own?: string): string =>
    (chunks.get(name) ?? "").replaceAll(REQUIRE, (call, wanted: string) => {
      const group = groupOf.get(wanted);
      if (group === undefined) return call;
      return group === own ? `${LOADERS.part}("${wanted}")` : `require("./${group}")("${wanted}")`;
    });
  const joined = [...groups].map(([group, names]) => {
    const parts = names.map((name) => {
      const text = `function(module,exports){${source(name, group)}\n}`;
      // A function in parentheses is compiled at once, and so is in the compile cache whatever runs first.
      return `"${name}":${isCompiledAtOnce ? `(${text})` : text}`;
    });
    const start = group === ENTRY ? `${LOADERS.part}("${ENTRY}");\n` : "";
    return [group, `${JOINED}${parts.join(",\n")}};\n${start}`] as const;
  });
  const alone = [...chunks.keys()].filter((name) => !groupOf.has(name));
  return new Map([...alone.map((name) => [name, source(name)] as const), ...joined]);
}

/** The chunks that are joined into one file, by its name. */
type Groups = ReadonlyMap<string, readonly string[]>;

/** The files of a package, of which each command loads few. */
function groupChunks(outputs: Metafile["outputs"]): Groups {
  const imports = (path: string, kind: ImportKind): string[] =>
    (outputs[path]?.imports ?? [])
      .filter((one) => one.kind === kind && outputs[one.path] !== undefined)
      .map((one) => one.path);
  const withImports = (path: string, found = new Set<string>()): Set<string> => {
    if (found.has(path)) return found;
    found.add(path);
    for (const imported of imports(path, "import-statement")) withImports(imported, found);
    return found;
  };
  const paths = Object.keys(outputs);
  const lazy = new Set(paths.flatMap((path) => imports(path, "dynamic-import")));
  const needs = [...lazy].map((path) => withImports(path));
  const first = withImports(paths.find((path) => basename(path) === ENTRY) ?? "");
  const isSmall = (path: string): boolean => (outputs[path]?.bytes ?? 0) <= MAX_JOINED_BYTES;
  const users = (path: string): ReadonlySet<number> =>
    new Set(needs.flatMap((needed, index) => (needed.has(path) ? [index] : [])));
  const groups: { readonly users: ReadonlySet<number>; readonly paths: string[] }[] = [];
  const small = paths
    .filter((path) => !first.has(path) && isSmall(path))
    .map((path) => ({ path, users: users(path) }))
    .toSorted((one, other) => other.users.size - one.users.size);
  for (const { path, users: own } of small) {
    const group = groups.find((one) => likeness(one.users, own) >= ALIKE);
    if (group === undefined) groups.push({ users: own, paths: [path] });
    else group.paths.push(path);
  }
  return new Map([
    [ENTRY, [...first].map((path) => basename(path))],
    ...groups
      .filter((group) => group.paths.length > 1)
      .map((group, index) => [`shared-${index}.js`, group.paths.map((path) => basename(path))] as const),
  ]);
}

/** The share of the members of two sets that both have: 0 to 1. */
function likeness(one: ReadonlySet<number>, other: ReadonlySet<number>): number {
  const both = [...one].filter((member) => other.has(member)).length;
  return both / (one.size + other.size - both);
}
