import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown, type OutputOptions } from "rolldown";
import { baseOptions, outputOptions } from "./bundle.ts";
import { CHUNK_PREFIX } from "./output.ts";

/** All other files are chunks, loaded when a command needs them. */
export const ENTRY = "checkout.js";

/** Source maps name the sources in stack traces (`src/world/machine.ts`); the package does not contain the sources. */
const MAPS = { sourcemap: true, sourcemapExcludeSources: true } satisfies OutputOptions;

const OPTIONS = { ...outputOptions, format: "cjs", entryFileNames: ENTRY, ...MAPS } satisfies OutputOptions;

/**
 * Chunks are in a folder named by their hash, so that a running program still finds its chunks after another build. The
 * package contains only the chunks of its own build.
 */
export async function buildProgram(folder: string, external = ["better-sqlite3"]): Promise<void> {
  const bundle = await rolldown({ ...baseOptions, input: "bin/main.ts", external });
  const { output: files } = await bundle.generate({ ...OPTIONS, chunkFileNames: "[name].js" });
  const texts = files.map((file) => (file.type === "chunk" ? [file.fileName, file.code] : []));
  const hash = createHash("sha256").update(JSON.stringify(texts)).digest("hex");
  const chunksFolder = `${CHUNK_PREFIX}${hash.slice(0, 16)}`;
  await bundle.write({ ...OPTIONS, dir: folder, chunkFileNames: `${chunksFolder}/[name].js` });
  await bundle.close();
  writeFileSync(join(folder, "package.json"), '{ "type": "commonjs" }\n');
  writeFileSync(join(folder, ".npmignore"), `/${CHUNK_PREFIX}*/\n!/${chunksFolder}/\n`);
}
