import { parseRunRecord, parseRunOwner } from "../../core/state-files.ts";
import type { World } from "../../world.ts";

/** Includes start time and folder, because process ids are reused and a folder may be a copy. */
type Owner = { readonly pid: number; readonly started: string; readonly folder?: string | undefined };

/**
 * Returns the running owner, or undefined after claiming the file. The caller holds the folder's lock if files can be
 * locked, so claims are not concurrent.
 */
export function claimFile(
  { files, ...world }: Pick<World, "files" | "processStartTime">,
  path: string,
  { text, folder }: { readonly text: string; readonly folder: string },
): Owner | undefined {
  if (files.createNew(path, text, { endsWithProcess: true })) return undefined;
  const oldText = files.read(path) ?? "";
  // A crash can leave an incomplete file, which has no owner (decision 62).
  const owner = parseRunRecord(oldText) ?? parseRunOwner(oldText);
  if (owner !== undefined && isRunningOwner(world, owner, folder)) return owner;
  files.write(path, text, { endsWithProcess: true });
  return undefined;
}

export function isRunningOwner(
  { processStartTime }: Pick<World, "processStartTime">,
  { pid, started, folder }: Owner,
  folderId: string | undefined,
): boolean {
  return pid > 0 && processStartTime(pid) === started && (folder === undefined || folder === folderId);
}
