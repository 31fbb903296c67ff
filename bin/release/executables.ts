import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { makeExecutable } from "../build/executable.ts";
import { licenseOfNode, unpackNode } from "./node-package.ts";
import { NODE_VERSION, type ReleasedPlatform } from "./platforms.ts";

/**
 * Uses Node's published binary, so each platform's executable can be built here; macOS executables must also be signed,
 * on a Mac. Returns the path.
 */
export function crossBuild(folder: string, platform: ReleasedPlatform): string {
  const nodeFolder = unpackNode(platform);
  const extension = platform.name.startsWith("windows") ? ".exe" : "";
  const output = `checkout-${platform.name}${extension}`;
  const node = join(folder, `node-${platform.name}`);
  copyFileSync(join(nodeFolder, `bin/node${extension}`), node);
  if (platform.strip !== undefined) execFileSync(platform.strip, ["--strip-debug", "--strip-unneeded", node]);
  makeExecutable(folder, {
    output,
    node: resolve(node),
    nodeVersion: NODE_VERSION,
    nodeLicense: readFileSync(licenseOfNode(), "utf8"),
    addon: resolve("node_modules/better-sqlite3/prebuilds", `${platform.addon}.node`),
  });
  rmSync(node);
  const path = join(folder, output);
  // Apple silicon does not run an unsigned program, and the build removes Node's signature.
  if (process.platform === "darwin") execFileSync("codesign", ["--sign", "-", path]);
  return path;
}
