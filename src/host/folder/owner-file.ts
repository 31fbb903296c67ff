import { parseRunRecord, parseRunOwner } from "../../core/state-files.ts";
import type { World } from "../../world.ts";

/** A process with its start time, because ids are reused, and the folder of the file, which may be copied. */
type Owner = { readonly pid: number; readonly started: string; readonly folder?: string | undefined };

/**
 * Claims a file that names its owner: creates it, or replaces it if no running process owns it. Returns the running
 * owner; undefined if the file was claimed. Of two concurrent claims, the lock of the folder admits only one.
 */
export function claimFile(
  { files, ...world }: Pick<World, "files" | "processStartTime">,
  path: string,
  { text, folder }: { readonly text: string; readonly folder: string },
): Owner | undefined {
  if (files.createNew(path, text, { endsWithProcess: true })) return undefined;
  const oldText = files.read(path) ?? "";
  // A torn file, which a crash can leave, has no owner (decision 62).
  const owner = parseRunRecord(oldText) ?? parseRunOwner(oldText);
  if (owner !== undefined && isRunningOwner(world, owner, folder)) return owner;
  files.write(path, text, { endsWithProcess: true });
  return undefined;
}

/** Whether the owner named in a file is still running and owns this file, not the file that it was copied from. */
export function isRunningOwner(
  { processStartTime }: Pick<World, "processStartTime">,
  { pid, started, folder }: Owner,
  folderId: string | undefined,
): boolean {
  return pid > 0 && processStartTime(pid) === started && (folder === undefined || folder === folderId);
}
