import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { configJsonSchema } from "../../src/core/config/schema.ts";
import { commandMapSchema } from "../../src/core/help/map.ts";
import { bundled } from "./bundle.ts";
import { buildLibraries } from "./libraries.ts";
import { buildWorker } from "./worker.ts";
import { LICENSES, licenseTexts } from "./licenses.ts";
import { buildProgram } from "./program.ts";

/** Makes the dist/ of the npm package in a folder. */
export async function buildPackage(folder: string): Promise<void> {
  await buildProgram(folder);
  await buildLibraries(folder);
  await buildWorker(folder);
  writeFileSync(join(folder, "config.schema.json"), `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  writeFileSync(join(folder, "help.schema.json"), `${JSON.stringify(commandMapSchema(), null, 2)}\n`);
  writeFileSync(join(folder, LICENSES), licenseTexts(bundled));
}
