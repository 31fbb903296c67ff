import { resolve } from "node:path";
import { SNAPSHOT_NAME } from "../../core/snapshot/snapshot.ts";
import { printableLiteral } from "../../core/text.ts";
import type { World } from "../../world.ts";
import { valueOption, type Context } from "../command.ts";
import { snapshotsIn, type SnapshotFiles } from "../../host/folder/snapshots.ts";
import { isTyped } from "../option-rules.ts";
import { refusedUsage } from "../problem.ts";
import { untilStopped } from "../stopping.ts";
import type { CommonOptions } from "../target/surroundings.ts";

/** The options of all commands of snapshots that act on one. */
export type SnapshotOptions = CommonOptions & { readonly all?: boolean; readonly file?: string };

/** What to type after a refusal. */
export const NEXT_AFTER_SNAPSHOT = {
  not_found: "checkout snapshots list shows them",
  state_conflict: "checkout snapshots list shows what each of them holds",
  invalid_parameter: "take a new one: checkout snapshots create <name>",
} as const;

/** The option that names a file outside of the state folder. */
export function fileOption(description: string) {
  return valueOption("--file <path>", description);
}

/** A name that was typed, and whether the command is about the whole sandbox or the store that was named. */
export function checkCommand(world: Pick<World, "argv">, { all }: SnapshotOptions, name: string): void {
  if (!SNAPSHOT_NAME.test(name)) {
    const expected = "1 to 64 of a-z, 0-9, . _ - and begin with a letter or a digit";
    throw refusedUsage(
      `the name of a snapshot must have ${expected}; got ${printableLiteral(name)}`,
      "correct it",
    );
  }
  if (all === true && isTyped(world, "store"))
    throw refusedUsage("--all and --store exclude each other", "leave one of them out");
}

/** The snapshots of the folder of a sandbox, for a command that reads or writes a file beside them. */
export function shelfOf({ world }: Pick<Context, "world">, folder: string | undefined): SnapshotFiles {
  if (folder !== undefined) return snapshotsIn(world, folder);
  const message =
    "--file works with the sandbox of a state folder, and this one is of none of this machine's";
  throw refusedUsage(message, "leave --file out: its snapshots are in its memory");
}

/** The name that a command's snapshot has while it acts. `signal`: the command is to stop. */
export type ActingName = { readonly name: string; readonly signal?: AbortSignal };

/**
 * Acts on a snapshot of another name, which takes the name once all has gone well: until then, and where anything fails,
 * an older one of the name stays as it was.
 */
export async function besideOlder<Value>(
  world: Pick<World, "freshId" | "onStop">,
  { shelf, name }: { readonly shelf: SnapshotFiles; readonly name: string },
  act: (beside: ActingName) => Promise<Value>,
): Promise<Value> {
  const beside = `unfinished-${world.freshId()}`;
  using stop = untilStopped(world);
  try {
    const done = await act({ name: beside, signal: stop.signal });
    shelf.rename(beside, name);
    return done;
  } finally {
    shelf.remove(beside);
  }
}

/** The path of a file that was typed. */
export function typedPath({ cwd }: Pick<World, "cwd">, file: string): string {
  return resolve(cwd, file);
}
