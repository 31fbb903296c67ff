import { execFileSync } from "node:child_process";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join, resolve } from "node:path";
import { SQLITE_ASSET } from "../../src/world/addon.ts";
import { bundledPackages } from "./bundle.ts";
import { LICENSES_FILE, licenseTexts, nodeLicense } from "./licenses.ts";
import { buildProgram } from "./program.ts";

const CONFIG_FILE = "sea.json";
const PROGRAM_FOLDER = "program";
const MAIN_SCRIPT = resolve("bin/executable.cjs");

/** `output`, `node` and `addon` are paths. */
export type Platform = {
  readonly output: string;
  readonly node: string;
  readonly nodeVersion: string;
  /** The text of Node's licence; undefined if it was not found. */
  readonly nodeLicense: string | undefined;
  readonly addon: string;
};

export async function buildExecutable(folder: string): Promise<void> {
  await bundleProgram(folder);
  makeExecutable(folder, {
    output: process.platform === "win32" ? "checkout.exe" : "checkout",
    node: process.execPath,
    nodeVersion: process.versions.node,
    nodeLicense: nodeLicense(),
    addon: addonPath(),
  });
  rmSync(join(folder, PROGRAM_FOLDER), { recursive: true });
}

export async function bundleProgram(folder: string): Promise<void> {
  await buildProgram(join(folder, PROGRAM_FOLDER), []);
}

export function licensesFile(folder: string): string {
  return join(folder, `checkout-${LICENSES_FILE}`);
}

/**
 * Needs the output of `bundleProgram` in the folder. The program's files, the addon and the licences become assets of
 * the executable.
 */
export function makeExecutable(folder: string, platform: Platform): void {
  writeFileSync(licensesFile(folder), `${licenseTexts(bundledPackages)}\n${licenseOfNode(platform)}`);
  const files = readdirSync(join(folder, PROGRAM_FOLDER), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.js(?:\.map)?$/.test(name))
    .map((name) => [name.replaceAll("\\", "/"), join(PROGRAM_FOLDER, name)] as const);
  const seaConfig = {
    main: MAIN_SCRIPT,
    output: platform.output,
    executable: platform.node,
    disableExperimentalSEAWarning: true,
    assets: {
      ...Object.fromEntries(files),
      [SQLITE_ASSET]: platform.addon,
      [LICENSES_FILE]: basename(licensesFile(folder)),
    },
  };
  writeFileSync(join(folder, CONFIG_FILE), JSON.stringify(seaConfig));
  execFileSync(process.execPath, ["--build-sea", CONFIG_FILE], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
  });
  rmSync(join(folder, CONFIG_FILE));
}

function licenseOfNode({ nodeVersion, nodeLicense: licenseText }: Platform): string {
  const title = `Node.js ${nodeVersion}, and what it is made of`;
  if (licenseText !== undefined) return `${title}\n\n${licenseText}`;
  const address = `https://github.com/nodejs/node/blob/v${nodeVersion}/LICENSE`;
  process.stderr.write(`warning: this Node has no LICENSE beside it; add ${address} to what you pass on\n`);
  return `${title}: ${address}\n`;
}

function addonPath(): string {
  const require = createRequire(resolve("node_modules/better-sqlite3/lib/index.js"));
  const { getPrebuildPath } = require("./binding.js") as { getPrebuildPath: () => string | null };
  const path = getPrebuildPath();
  if (path === null) throw new Error(`better-sqlite3 has no addon for ${process.platform}-${process.arch}`);
  return path;
}
