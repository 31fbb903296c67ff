import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { configJsonSchema } from "../../src/core/config/schema.ts";
import { commandMapSchema, type CommandMap } from "../../src/core/help/map.ts";
import { outputSchema } from "../../src/cli/output/schema.ts";
import { commandsPage } from "../docs/commands.ts";
import { controlApiPage } from "../docs/control-api.ts";
import { bundledPackages } from "./bundle.ts";
import { buildLibraries } from "./libraries.ts";
import { buildWorker } from "./worker.ts";
import { LICENSES_FILE, licenseTexts } from "./licenses.ts";
import { buildProgram } from "./program.ts";

export async function buildPackage(folder: string): Promise<void> {
  await buildProgram(folder);
  await buildLibraries(folder);
  await buildWorker(folder);
  writeFileSync(join(folder, "config.schema.json"), `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  writeFileSync(join(folder, "help.schema.json"), `${JSON.stringify(commandMapSchema(), null, 2)}\n`);
  writeFileSync(join(folder, "output.schema.json"), `${JSON.stringify(outputSchema(), null, 2)}\n`);
  writePages(folder);
  writeFileSync(join(folder, LICENSES_FILE), licenseTexts(bundledPackages));
}

/** Pages that only the package has: a clone has their content in the help and in fixtures/openapi-control.json. */
function writePages(folder: string): void {
  const map = execFileSync(process.execPath, [join(folder, "checkout.js"), "help", "--json"], {
    encoding: "utf8",
  });
  mkdirSync(join(folder, "docs"));
  writeFileSync(join(folder, "docs/commands.md"), commandsPage(JSON.parse(map) as CommandMap));
  writeFileSync(join(folder, "docs/control-api.md"), controlApiPage());
}
