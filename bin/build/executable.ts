import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { SQLITE_ASSET } from "../../src/world/addon.ts";
import { bundled } from "./bundle.ts";
import {
  bundleScripts,
  compileProgram,
  PROGRAM_ASSETS,
  removeScripts,
  SCRIPT,
} from "./executable-scripts.ts";
import { LICENSES, licenseTexts, nodeLicense } from "./licenses.ts";

const CONFIG = "sea.json";

/** The Node and the SQLite addon of one platform, from which its executable is made. */
export type Platform = {
  /** The name of the executable. */
  readonly output: string;
  /** The path of Node. */
  readonly node: string;
  readonly nodeVersion: string;
  /** The licence of Node; undefined if it is not known. */
  readonly nodeLicense: string | undefined;
  /** The path of the addon. */
  readonly addon: string;
  /** Whether this process can make compiled code for it; on another system or processor Node would reject the code. */
  readonly isOwn: boolean;
};

/** Makes Node's single executable for this platform, and the licence texts that belong to it. */
export async function buildExecutable(folder: string): Promise<void> {
  await bundleScripts(folder);
  await makeExecutable(folder, {
    output: process.platform === "win32" ? "checkout.exe" : "checkout",
    node: process.execPath,
    nodeVersion: process.versions.node,
    nodeLicense: nodeLicense(),
    addon: ownAddon(),
    isOwn: true,
  });
  removeScripts(folder);
}

/** The path of the licence texts that belong to the executables of a folder. */
export function licensesFile(folder: string): string {
  return join(folder, `checkout-${LICENSES}`);
}

/** Makes an executable from the scripts of the folder; the addon is an asset. */
export async function makeExecutable(folder: string, platform: Platform): Promise<void> {
  await compileProgram(folder, platform.isOwn ? platform.node : undefined);
  writeFileSync(licensesFile(folder), `${licenseTexts(bundled)}\n${licenseOfNode(platform)}`);
  const description = {
    main: SCRIPT,
    output: platform.output,
    executable: platform.node,
    disableExperimentalSEAWarning: true,
    useCodeCache: platform.isOwn,
    assets: {
      ...Object.fromEntries(PROGRAM_ASSETS.map((name) => [name, name])),
      [SQLITE_ASSET]: platform.addon,
      [LICENSES]: basename(licensesFile(folder)),
    },
  };
  writeFileSync(join(folder, CONFIG), JSON.stringify(description));
  execFileSync(process.execPath, ["--build-sea", CONFIG], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
  });
  rmSync(join(folder, CONFIG));
}

/** The licence note of the Node inside an executable. */
function licenseOfNode({ nodeVersion, nodeLicense: text }: Platform): string {
  const title = `Node.js ${nodeVersion}, and what it is made of`;
  if (text !== undefined) return `${title}\n\n${text}`;
  const address = `https://github.com/nodejs/node/blob/v${nodeVersion}/LICENSE`;
  process.stderr.write(`warning: this Node has no LICENSE beside it; add ${address} to what you pass on\n`);
  return `${title}: ${address}\n`;
}

/** The addon of better-sqlite3 for this platform. */
function ownAddon(): string {
  const require = createRequire(import.meta.url);
  const binding = join(dirname(require.resolve("better-sqlite3")), "binding.js");
  const { getPrebuildPath } = require(binding) as { getPrebuildPath: () => string | null };
  const path = getPrebuildPath();
  if (path === null) throw new Error(`better-sqlite3 has no addon for ${process.platform}-${process.arch}`);
  return path;
}
