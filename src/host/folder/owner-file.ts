import { parseRun, parseRunOwner } from "../../core/state-files.ts";
import type { World } from "../../world.ts";
import { dirname, basename, join } from "node:path";

type OwnerWorld = Pick<World, "files" | "processStart">;

/**
 * A process: its id, and when it started, because ids come again; and the folder that it owns a file of, because files
 * are copied with their folder.
 */
type Owner = { readonly pid: number; readonly started: string; readonly folder?: string | undefined };

/** Who has a file now: this process, or another one that runs. */
export type Claim = "own" | Owner;

/** What a file says of a process that has ended, or of none, after which others line up to take the file over. */
const NOBODY: Owner = { pid: 0, started: "" };

/**
 * Takes a file that names its owner: makes it, or takes it over from an owner that has ended. There is no moment at which
 * two processes can both take it: who wants to take over from an owner first makes a file that is named after that owner,
 * and looks again whether it is still the owner before the file is replaced.
 */
export function claimFile(world: OwnerWorld, path: string, own: { readonly text: string } & Owner): Claim {
  const { files } = world;
  for (;;) {
    if (files.createNew(path, own.text)) return "own";
    const owner = ownerOf(world, path);
    if (owner === undefined) continue;
    if (serves(world, owner, own.folder)) return owner;
    const takeover = takeoverPath(path, owner);
    const claim = claimFile(world, takeover, own);
    if (claim !== "own") return claim;
    const now = ownerOf(world, path);
    const isMine = now !== undefined && isSame(now, owner);
    if (isMine) files.write(path, own.text);
    files.remove(takeover);
    if (isMine) return "own";
  }
}

/** Removes what a process left that ended while it took a file over. */
export function removeTakeovers(world: OwnerWorld, path: string, folderId: string): void {
  const folder = dirname(path);
  for (const name of world.files.list(folder)) {
    if (!name.startsWith(`${basename(path)}.after-`)) continue;
    const owner = ownerOf(world, join(folder, name));
    if (owner !== undefined && !serves(world, owner, folderId)) world.files.remove(join(folder, name));
  }
}

/**
 * The owner that a file names; undefined where there is no file. A file gets its name when it is whole, so one that a
 * crash has torn, or that holds anything else, is no living process's.
 */
function ownerOf({ files }: OwnerWorld, path: string): Owner | undefined {
  const text = files.read(path);
  return text === undefined ? undefined : (parseRun(text) ?? parseRunOwner(text) ?? NOBODY);
}

/** Whether an owner runs, and owns a file of this folder, not of one that this is a copy of. */
export function serves(
  { processStart }: Pick<World, "processStart">,
  { pid, started, folder }: Owner,
  folderId: string | undefined,
): boolean {
  return pid > 0 && processStart(pid) === started && (folder === undefined || folder === folderId);
}

function isSame(one: Owner, other: Owner): boolean {
  return one.pid === other.pid && one.started === other.started && one.folder === other.folder;
}

function takeoverPath(path: string, { pid, started }: Owner): string {
  return `${path}.after-${pid}-${started.replaceAll(/\W+/g, "-")}`;
}
