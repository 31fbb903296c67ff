import { mkdtempSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { isError } from "../core/outcome.ts";
import type { PathFacts } from "../world.ts";
import { discardFile, files } from "./files.ts";
import { errorCodeOf, crypto, sea } from "./node.ts";
import { readRegularFile } from "./read.ts";

const ADDON_NOT_WRITTEN = "ERR_ADDON_NOT_WRITTEN";

export const SQLITE_ASSET = "better_sqlite3.node";

let unpackedPath: string | undefined;

/** Unpacks once per process, because two loaded copies ignore and release each other's locks. */
export function unpackAddon(): string {
  unpackedPath ??= unpack();
  return unpackedPath;
}

/**
 * Tries the cache folder, a temporary folder that all commands of this user share, and one that is removed at exit.
 * Throws if all fail.
 */
function unpack(): string {
  const { createRequire } = process.getBuiltinModule("node:module");
  Object.assign(globalThis, { __non_webpack_require__: createRequire(process.execPath) });
  const addon = new Uint8Array(sea().getRawAsset(SQLITE_ASSET));
  const errors: unknown[] = [];
  for (const folderOf of [cacheFolder, sharedTemporaryFolder, ownTemporaryFolder])
    try {
      return cacheAddon(folderOf(), addon);
    } catch (error) {
      errors.push(error);
    }
  const reasons = [errors[0], errors.at(-1)].map((error) => (isError(error) ? error.message : String(error)));
  const code = ADDON_NOT_WRITTEN;
  throw Object.assign(new Error(reasons.join("; "), { cause: errors.at(-1) }), { code });
}

function temporaryPrefix(): string {
  return join(process.getBuiltinModule("node:os").tmpdir(), "hosted-checkout-");
}

function sharedTemporaryFolder(): string {
  return `${temporaryPrefix()}${process.getuid?.() ?? "user"}`;
}

function ownTemporaryFolder(): string {
  const folder = mkdtempSync(temporaryPrefix());
  process.once("exit", () => discardFile(folder));
  return folder;
}

export function enablePrivateCompileCache(): void {
  try {
    const folder = join(cacheFolder(), "compiled");
    files.makeFolder(folder);
    // Node runs cached code without a check, so no other user may write to the folder.
    if (isPrivate(folder, "folder")) process.getBuiltinModule("node:module").enableCompileCache(folder);
  } catch (error) {
    if (errorCodeOf(error) === undefined) throw error;
  }
}

function cacheFolder(): string {
  const folder = process.env["XDG_CACHE_HOME"] ?? "";
  const cache = isAbsolute(folder) ? folder : join(process.getBuiltinModule("node:os").homedir(), ".cache");
  return join(cache, "hosted-checkout");
}

/**
 * Throws if other users have access to the folder. Keeps an existing file only if it is private and has the same bytes.
 */
export function cacheAddon(folder: string, addon: Uint8Array): string {
  files.makeFolder(folder);
  if (!isAbsolute(folder) || !isPrivate(folder, "folder")) throw new Error(`${folder} is not private`);
  const path = join(folder, `${crypto().hash("sha256", addon, "hex")}.node`);
  if (!isPrivate(path, "file") || !hasContent(path, addon)) files.write(path, addon);
  return path;
}

function hasContent(path: string, content: Uint8Array): boolean {
  return files.size(path) === content.length && readRegularFile(path)?.bytes.equals(content) === true;
}

function isPrivate(path: string, kind: PathFacts["kind"]): boolean {
  const facts = files.stat(path);
  return facts?.kind === kind && facts.isOwn && facts.openTo === "nobody";
}
