/** Builds the program into dist/; with --executable also dist/checkout, one file with Node inside. */
import { execFileSync } from "node:child_process";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { build, type BuildOptions, type Plugin } from "esbuild";
import { configJsonSchema } from "./src/core/config/schema.ts";
import { SQLITE_ASSET } from "./src/real-world.ts";

const EXECUTABLE = process.platform === "win32" ? "checkout.exe" : "checkout";

/** `import text from "./style.css?raw"` is the file as text, here as in vitest. */
const rawText: Plugin = {
  name: "raw text",
  setup: (bundler) => {
    bundler.onResolve({ filter: /\?raw$/ }, async ({ path, kind, resolveDir }) => {
      const { path: file, errors } = await bundler.resolve(path.replace(/\?raw$/, ""), { kind, resolveDir });
      return { path: file, errors, namespace: "raw" };
    });
    bundler.onLoad({ filter: /.*/, namespace: "raw" }, ({ path }) => ({
      contents: readFileSync(path, "utf8"),
      loader: "text",
    }));
  },
};

const common = {
  platform: "node",
  target: "node22",
  bundle: true,
  plugins: [rawText],
  // Names stay, so that a stack trace can be read.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: "eof",
  // CommonJS has none. `open` looks there for an xdg-open of its own, and takes the system's where it finds none.
  define: { "import.meta.url": "undefined" },
} as const satisfies BuildOptions;

/** The default build of this package loads its parts by a require that no bundler can follow. */
const ALIAS = { "jsonc-parser": "jsonc-parser/lib/esm/main.js" } as const;

const { values } = parseArgs({
  options: { executable: { type: "boolean", default: false }, out: { type: "string", default: "dist" } },
});
const OUT = values.out;
const UNFINISHED = `${OUT}.new`;
rmSync(UNFINISHED, { recursive: true, force: true });
await buildChunks();
await buildWebhooks();
writeFileSync(join(UNFINISHED, "config.schema.json"), `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
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
}

/** What merchants import, `hosted-checkout/webhooks`: one file for each module system, each with its types. */
async function buildWebhooks(): Promise<void> {
  const types = webhookTypes();
  for (const [format, letter] of [
    ["esm", "m"],
    ["cjs", "c"],
  ] as const) {
    const outfile = join(UNFINISHED, `webhooks.${letter}js`);
    await build({ ...common, entryPoints: ["src/webhooks.ts"], outfile, format });
    writeFileSync(join(UNFINISHED, `webhooks.d.${letter}ts`), types);
  }
}

/** The types that merchants see, in one file: those of core/webhook/webhook.ts, and the functions of webhooks.ts. */
function webhookTypes(): string {
  const folder = join(UNFINISHED, "types");
  const config = `${folder}.json`;
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: resolve("src"),
    outDir: resolve(folder),
    typeRoots: [resolve("node_modules/@types")],
  };
  const project = { extends: resolve("tsconfig.json"), include: [], files: [resolve("src/webhooks.ts")] };
  writeFileSync(config, JSON.stringify({ ...project, compilerOptions }));
  const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
  execFileSync(process.execPath, [tsc, "--project", config], { stdio: "inherit" });
  const [types, functions] = [join(folder, "core/webhook/webhook.d.ts"), join(folder, "webhooks.d.ts")].map(
    (path) => readFileSync(path, "utf8"),
  );
  for (const intermediate of [folder, config]) rmSync(intermediate, { recursive: true });
  return [
    types?.replaceAll(/^export /gm, ""),
    functions?.replaceAll(/^import .*\n/gm, "").replaceAll(/^(export .*) from ".*";$/gm, "$1;"),
  ].join("");
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
  const config = join(UNFINISHED, "sea.json");
  const description = {
    main: script,
    output: join(UNFINISHED, EXECUTABLE),
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    assets: { [SQLITE_ASSET]: addonPath() },
  };
  writeFileSync(config, JSON.stringify(description));
  execFileSync(process.execPath, ["--build-sea", config], { stdio: ["ignore", "ignore", "inherit"] });
  for (const intermediate of [script, config]) rmSync(intermediate);
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
