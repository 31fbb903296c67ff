import { parseRunRecord, parseRunOwner } from "../../core/state-files.ts";
import type { World } from "../../world.ts";
import { dirname, basename, join } from "node:path";

type OwnerWorld = Pick<World, "files" | "processStartTime">;

/** A process with its start time, because ids are reused, and the folder of the file, which may be copied. */
type Owner = { readonly pid: number; readonly started: string; readonly folder?: string | undefined };

/** The current owner of a file: this process, or another running one. */
export type Claim = "own" | Owner;

/** Represents an ended or missing owner; processes that take over the file queue after it. */
const NO_OWNER: Owner = { pid: 0, started: "" };

/**
 * Claims a file that names its owner: creates it, or takes it over from an owner that has ended. Two processes can
 * never both claim it: a process first creates a file named after the old owner, and checks that owner again before it
 * replaces the file.
 */
export function claimFile(world: OwnerWorld, path: string, own: { readonly text: string } & Owner): Claim {
  const { files } = world;
  for (let claims = 0; claims < MAX_CLAIMS; claims += 1) {
    if (files.createNew(path, own.text)) return "own";
    const owner = ownerOf(world, path);
    if (owner === undefined) continue;
    if (isRunningOwner(world, owner, own.folder)) return owner;
    const takeover = takeoverPath(path, owner);
    const claim = claimFile(world, takeover, own);
    if (claim !== "own") return claim;
    const now = ownerOf(world, path);
    const isMine = now !== undefined && isSame(now, owner);
    if (isMine) files.write(path, own.text);
    files.remove(takeover);
    if (isMine) return "own";
  }
  throw new Error(`${path} can neither be created nor read`);
}

/** Maximum number of attempts to claim a file: each further one means that another process was faster. */
const MAX_CLAIMS = 1000;

export function removeTakeovers(world: OwnerWorld, path: string, folderId: string): void {
  const folder = dirname(path);
  for (const name of world.files.list(folder)) {
    if (!name.startsWith(`${basename(path)}.after-`)) continue;
    const owner = ownerOf(world, join(folder, name));
    if (owner !== undefined && !isRunningOwner(world, owner, folderId))
      world.files.remove(join(folder, name));
  }
}

/** A foreign file belongs to no running process, nor does a torn one, which a crash can leave (decision 62). */
function ownerOf({ files }: OwnerWorld, path: string): Owner | undefined {
  const text = files.read(path);
  return text === undefined ? undefined : (parseRunRecord(text) ?? parseRunOwner(text) ?? NO_OWNER);
}

/** Whether the owner named in a file is still running and owns this file, not the file that it was copied from. */
export function isRunningOwner(
  { processStartTime }: Pick<World, "processStartTime">,
  { pid, started, folder }: Owner,
  folderId: string | undefined,
): boolean {
  return pid > 0 && processStartTime(pid) === started && (folder === undefined || folder === folderId);
}

function isSame(one: Owner, other: Owner): boolean {
  return one.pid === other.pid && one.started === other.started && one.folder === other.folder;
}

function takeoverPath(path: string, { pid, started }: Owner): string {
  return `${path}.after-${pid}-${started.replaceAll(/\W+/g, "-")}`;
}
