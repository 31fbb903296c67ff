/** Builds the program into dist/; with --executable also dist/checkout, one file with Node inside. */
import { execFileSync } from "node:child_process";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { build, type BuildOptions, type ImportKind, type Metafile, type Plugin } from "esbuild";
import { LICENSES, licenseTexts, nodeLicense, notePackages } from "./bin/build/licenses.ts";
import { configJsonSchema } from "./src/core/config/schema.ts";
import { SQLITE_ASSET } from "./src/real-world.ts";

const EXECUTABLE = process.platform === "win32" ? "checkout.exe" : "checkout";

/** `import text from "./style.css?raw"` is the file as text, here as in vitest. */
const rawText: Plugin = {
  name: "raw text",
  setup: (bundler) => {
    bundler.onResolve({ filter: /\?raw$/ }, async ({ path, kind, resolveDir }) => {
      const { path: file, errors } = await bundler.resolve(path.replace(/\?raw$/, ""), { kind, resolveDir });
      // Comments of the bundle name it: a path of this machine stays out of the package.
      return { path: relative(process.cwd(), file), errors, namespace: "raw" };
    });
    bundler.onLoad({ filter: /.*/, namespace: "raw" }, ({ path }) => ({
      contents: readFileSync(resolve(path), "utf8"),
      loader: "text",
    }));
  },
};

/** The packages that are bundled, by their folders. */
const bundled = new Set<string>();

const common = {
  platform: "node",
  target: "node22",
  bundle: true,
  plugins: [rawText, notePackages(bundled)],
  // Names stay, so that a stack trace can be read.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: "eof",
  // CommonJS has none. `open` looks there for an xdg-open of its own, and takes the system's where it finds none.
  define: { "import.meta.url": "undefined" },
} as const satisfies BuildOptions;

/** The default build of this package loads its parts by a require that no bundler can follow. */
const ALIAS = { "jsonc-parser": "jsonc-parser/lib/esm/main.js" } as const;

/** The file that `bin/checkout.cjs` loads. */
const ENTRY = "checkout.js";

/** The beginning of a file of several chunks: what loads one of them, once, as `require` does. */
const JOINED = `"use strict";
const loaded = new Map();
const part = (module.exports = (name) => {
  let own = loaded.get(name);
  if (own === undefined) {
    loaded.set(name, (own = { exports: {} }));
    parts[name](own, own.exports);
  }
  return own.exports;
});
const parts = {
`;

/** What the kit says on a Node that it cannot run on, in place of the first function that is not there. */
const NODE_CHECK = `{
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 22 || (major === 22 && minor < 22))
    throw new Error("hosted-checkout/testing needs Node 22.22.2 or newer, and this is " + process.versions.node);
}`;

/** How a chunk loads another one. */
const REQUIRE = /require\("\.\/([\w-]+\.js)"\)/g;

/** Chunks that this share of all lazily loaded parts needs are in one file. */
const SHARED_BY = 0.4;
/** A chunk of more bytes stays alone: reading it takes as long as opening it. */
const MAX_JOINED_BYTES = 20_000;

/** The files below src/ that hold the types of what is imported; that itself is the last one. */
type Typed = readonly string[];
const WEBHOOK_TYPES: Typed = ["core/webhook/webhook", "webhooks"];
const TESTING_TYPES: Typed = [
  "core/webhook/webhook",
  "testing/config-types",
  "testing/types",
  "testing/errors",
  "testing/testing",
];
/** What says to the types what an import of another kind is. */
const AMBIENT_TYPES: Typed = ["src/web/raw.d.ts", "src/testing/fixtures/runners.d.ts"];

/** The test runners that there are fixtures for, and what these import of them. */
const FIXTURES = ["vitest", "jest", "node", "playwright"] as const;
const RUNNERS = ["vitest", "@jest/globals"];

const { values } = parseArgs({
  options: { executable: { type: "boolean", default: false }, out: { type: "string", default: "dist" } },
});
const OUT = values.out;
const UNFINISHED = `${OUT}.new`;
rmSync(UNFINISHED, { recursive: true, force: true });
await buildChunks();
const types = declarations([...WEBHOOK_TYPES, ...TESTING_TYPES, ...FIXTURES.map(fixtureSource)]);
await buildWebhooks();
await buildTesting();
await buildFixtures();
writeFileSync(join(UNFINISHED, "config.schema.json"), `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
writeFileSync(join(UNFINISHED, LICENSES), licenseTexts(bundled));
if (values.executable) await buildExecutable();
// What is there works until the new one is whole.
rmSync(OUT, { recursive: true, force: true });
renameSync(UNFINISHED, OUT);

/**
 * One small file for each command, so that a start reads only what it runs. esbuild splits ES modules alone, but Node
 * loads CommonJS faster: the second pass turns each chunk into it.
 */
async function buildChunks(): Promise<void> {
  const esm = join(UNFINISHED, "esm");
  const chunks = await build({
    ...common,
    entryPoints: { checkout: "bin/main.ts" },
    outdir: esm,
    splitting: true,
    format: "esm",
    chunkNames: "chunk-[hash]",
    external: ["better-sqlite3"],
    alias: ALIAS,
    metafile: true,
  });
  // Without a "type" of their own the chunks would be read as Node's ES modules, whose default export is the whole module.
  writeFileSync(join(esm, "package.json"), "{}\n");
  await build({
    ...common,
    bundle: false,
    entryPoints: Object.keys(chunks.metafile.outputs),
    outdir: UNFINISHED,
    format: "cjs",
    supported: { "dynamic-import": false },
  });
  rmSync(esm, { recursive: true });
  writeFileSync(join(UNFINISHED, "package.json"), '{ "type": "commonjs" }\n');
  joinChunks(chunks.metafile.outputs);
}

/**
 * esbuild makes a chunk for each set of commands that share a module, dozens of them with a few lines, and a start takes
 * longer to open a file than to read it. What the first file always loads is put into it, and small chunks that many
 * commands need into one file of their own. Each is still a module by itself, which runs when it is first asked for.
 */
function joinChunks(outputs: Metafile["outputs"]): void {
  const groups = groupChunks(outputs);
  const groupOf = new Map(
    [...groups].flatMap(([group, names]) => names.map((name) => [name, group] as const)),
  );
  const source = (name: string, own?: string): string =>
    readFileSync(join(UNFINISHED, name), "utf8").replaceAll(REQUIRE, (call, wanted: string) => {
      const group = groupOf.get(wanted);
      if (group === undefined) return call;
      return group === own ? `part("${wanted}")` : `require("./${group}")("${wanted}")`;
    });
  const joined = [...groups].map(([group, names]) => {
    // In parentheses a function is compiled at once, and so is in the compile cache whatever ran first.
    const parts = names.map((name) => `"${name}":(function(module,exports){${source(name, group)}\n})`);
    const start = group === ENTRY ? `part("${ENTRY}");\n` : "";
    return [group, `${JOINED}${parts.join(",\n")}};\n${start}`] as const;
  });
  const alone = Object.keys(outputs).map((path) => basename(path));
  for (const name of alone.filter((one) => !groupOf.has(one)))
    writeFileSync(join(UNFINISHED, name), source(name));
  for (const name of groupOf.keys()) rmSync(join(UNFINISHED, name));
  for (const [group, text] of joined) writeFileSync(join(UNFINISHED, group), text);
}

/** The chunks that become one file, by its name. */
function groupChunks(outputs: Metafile["outputs"]): ReadonlyMap<string, readonly string[]> {
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
  const isShared = (path: string): boolean =>
    needs.filter((needed) => needed.has(path)).length >= SHARED_BY * needs.length;
  const isSmall = (path: string): boolean => (outputs[path]?.bytes ?? 0) <= MAX_JOINED_BYTES;
  const shared = paths.filter((path) => !first.has(path) && isSmall(path) && isShared(path));
  return new Map([
    [ENTRY, [...first].map((path) => basename(path))],
    ["shared.js", shared.map((path) => basename(path))],
  ]);
}

/** What merchants import, `hosted-checkout/webhooks`: one file for each module system, each with its types. */
async function buildWebhooks(): Promise<void> {
  const shown = typesOf(WEBHOOK_TYPES);
  for (const [format, letter] of [
    ["esm", "m"],
    ["cjs", "c"],
  ] as const) {
    const outfile = join(UNFINISHED, `webhooks.${letter}js`);
    await build({ ...common, entryPoints: ["src/webhooks.ts"], outfile, format });
    writeFileSync(join(UNFINISHED, `webhooks.d.${letter}ts`), shown);
  }
}

/** What test suites import, `hosted-checkout/testing`: one program for both module systems, so that they share its state. */
async function buildTesting(): Promise<void> {
  await build({
    ...common,
    entryPoints: ["src/testing/testing.ts"],
    outfile: join(UNFINISHED, "testing.cjs"),
    format: "cjs",
    external: ["better-sqlite3"],
    alias: ALIAS,
    banner: { js: NODE_CHECK },
    // jest refuses it.
    supported: { "dynamic-import": false },
  });
  const shown = typesOf(TESTING_TYPES);
  const names = [...shown.matchAll(/^(?:export )?declare (?:class|function) (\w+)/gm)].map(
    ([, name]) => name,
  );
  const esm = `import testing from "./testing.cjs";\nexport const { ${names.join(", ")} } = testing;\n`;
  writeFileSync(join(UNFINISHED, "testing.mjs"), esm);
  // What `await using` ends is in no library that a target before ESNext has.
  const declared = `/// <reference lib="esnext.disposable" />\n${shown}`;
  for (const letter of ["m", "c"]) writeFileSync(join(UNFINISHED, `testing.d.${letter}ts`), declared);
}

/** The fixtures for test runners, `hosted-checkout/testing/…`. Each imports its runner and the built kit. */
async function buildFixtures(): Promise<void> {
  await Promise.all(
    FIXTURES.map(async (name) => {
      // vitest itself is an ES module alone.
      const format = name === "vitest" ? "esm" : "cjs";
      const kit = format === "esm" ? "./testing.mjs" : "./testing.cjs";
      const outfile = join(UNFINISHED, `testing-${name}.${format === "esm" ? "mjs" : "cjs"}`);
      const entryPoints = [`src/${fixtureSource(name)}.ts`];
      const parts = { external: RUNNERS, plugins: [builtKit(kit)] };
      // Runners show lines of it.
      await build({ ...common, ...parts, entryPoints, outfile, format, minifyWhitespace: false });
      const text = typesIn(fixtureSource(name)).replaceAll(/"\.\.\/\w+\.ts"/g, `"${kit}"`);
      writeFileSync(join(UNFINISHED, `testing-${name}.d.mts`), text.replaceAll("testing.cjs", "testing.mjs"));
      if (format === "esm") return;
      writeFileSync(join(UNFINISHED, `testing-${name}.d.cts`), text);
      const [, made = ""] = /^export declare function (\w+)/m.exec(text) ?? [];
      const esm = `import fixtures from "./testing-${name}.cjs";\nexport const { ${made} } = fixtures;\n`;
      writeFileSync(join(UNFINISHED, `testing-${name}.mjs`), esm);
    }),
  );
}

/** The file below src/ of the fixtures for a test runner. */
function fixtureSource(name: (typeof FIXTURES)[number]): string {
  return `testing/fixtures/${name}`;
}

/** Leaves the kit where it is: fixtures and tests have the same one. */
function builtKit(path: string): Plugin {
  return {
    name: "built kit",
    setup: (bundler) => bundler.onResolve({ filter: /\/testing\.ts$/ }, () => ({ path, external: true })),
  };
}

/** The types that users see, in one file. */
function typesOf(parts: Typed): string {
  const entry = parts.at(-1) ?? "";
  const texts = parts.map((part) => {
    const text = typesIn(part).replaceAll(/^import .*\n/gm, "");
    return part === entry
      ? text.replaceAll(/^(export .*) from ".*";$/gm, "$1;")
      : text.replaceAll(/^export /gm, "");
  });
  return texts.join("");
}

/** The types of one file below src/. */
function typesIn(name: string): string {
  const text = types.get(name);
  if (text === undefined) throw new Error(`tsc was not asked for the types of ${name}`);
  return text;
}

/** The types of files below src/, as tsc writes them. It runs once for all, because it takes longer than all the rest. */
function declarations(names: readonly string[]): ReadonlyMap<string, string> {
  const folder = join(UNFINISHED, "types");
  const config = `${folder}.json`;
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    // They are checked by `npm run check`: to write them alone takes half of the time.
    noCheck: true,
    rootDir: resolve("src"),
    outDir: resolve(folder),
    typeRoots: [resolve("node_modules/@types")],
  };
  const included = {
    include: AMBIENT_TYPES.map((path) => resolve(path)),
    files: [...new Set(names)].map((name) => resolve(`src/${name}.ts`)),
  };
  writeFileSync(config, JSON.stringify({ extends: resolve("tsconfig.json"), ...included, compilerOptions }));
  const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
  execFileSync(process.execPath, [tsc, "--project", config], { stdio: "inherit" });
  const texts = names.map((name) => [name, readFileSync(join(folder, `${name}.d.ts`), "utf8")] as const);
  for (const intermediate of [folder, config]) rmSync(intermediate, { recursive: true });
  return new Map(texts);
}

/** Node's own single executable for this platform: the program in one script, SQLite's addon as an asset. */
async function buildExecutable(): Promise<void> {
  const script = join(UNFINISHED, "executable.cjs");
  await build({
    ...common,
    entryPoints: ["bin/main.ts"],
    outfile: script,
    format: "cjs",
    alias: ALIAS,
    supported: { "dynamic-import": false },
    // The embedded require knows only Node's own modules; this one also loads the unpacked addon.
    banner: {
      js: 'const __non_webpack_require__ = require("node:module").createRequire(process.execPath);',
    },
  });
  const licenses = join(UNFINISHED, LICENSES);
  writeFileSync(licenses, `${licenseTexts(bundled)}\n${licenseOfNode()}`);
  const config = join(UNFINISHED, "sea.json");
  const description = {
    main: script,
    output: join(UNFINISHED, EXECUTABLE),
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    assets: { [SQLITE_ASSET]: addonPath(), [LICENSES]: licenses },
  };
  writeFileSync(config, JSON.stringify(description));
  execFileSync(process.execPath, ["--build-sea", config], { stdio: ["ignore", "ignore", "inherit"] });
  for (const intermediate of [script, config]) rmSync(intermediate);
}

/** What the executable says of the Node inside. */
function licenseOfNode(): string {
  const title = `Node.js ${process.versions.node}, and what it is made of`;
  const text = nodeLicense();
  if (text !== undefined) return `${title}\n\n${text}`;
  const address = `https://github.com/nodejs/node/blob/v${process.versions.node}/LICENSE`;
  process.stderr.write(`warning: this Node has no LICENSE beside it; add ${address} to what you pass on\n`);
  return `${title}: ${address}\n`;
}

/** better-sqlite3 ships an addon for each platform and finds the right one itself. */
function addonPath(): string {
  const require = createRequire(import.meta.url);
  const binding = join(dirname(require.resolve("better-sqlite3")), "binding.js");
  const { getPrebuildPath } = require(binding) as { getPrebuildPath: () => string | null };
  const path = getPrebuildPath();
  if (path === null) throw new Error(`better-sqlite3 has no addon for ${process.platform}-${process.arch}`);
  return path;
}
