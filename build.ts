/** Builds the program into dist/; with --executable also dist/checkout, one file with Node inside. */
import { rmSync, writeFileSync } from "node:fs";
import { build, type BuildOptions } from "esbuild";

const OUT = "dist";
const ESM = "dist/esm";

const common = {
  platform: "node",
  target: "node22",
  // Names stay, so that a stack trace can be read.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: "none",
} as const satisfies BuildOptions;

rmSync(OUT, { recursive: true, force: true });
await buildChunks();

/**
 * One small file for each command, so that a start reads only what it runs. esbuild splits ES modules alone, but Node
 * loads CommonJS faster: the second pass turns each chunk into it.
 */
async function buildChunks(): Promise<void> {
  const chunks = await build({
    ...common,
    entryPoints: { checkout: "bin/main.ts" },
    outdir: ESM,
    bundle: true,
    splitting: true,
    format: "esm",
    chunkNames: "chunk-[hash]",
    external: ["better-sqlite3"],
    metafile: true,
  });
  // Without a "type" of their own the chunks would be read as Node's ES modules, whose default export is the whole module.
  writeFileSync(`${ESM}/package.json`, "{}\n");
  await build({
    ...common,
    entryPoints: Object.keys(chunks.metafile.outputs),
    outdir: OUT,
    format: "cjs",
    supported: { "dynamic-import": false },
  });
  rmSync(ESM, { recursive: true });
  writeFileSync(`${OUT}/package.json`, '{ "type": "commonjs" }\n');
}
