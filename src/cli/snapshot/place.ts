import { resolve } from "node:path";
import { SNAPSHOT_NAME_PATTERN } from "../../core/snapshot/snapshot.ts";
import { printableLiteral } from "../../core/text.ts";
import type { World } from "../../world.ts";
import type { Context } from "../command.ts";
import { snapshotsIn, type SnapshotFiles } from "../../host/folder/snapshots.ts";
import { isOptionTyped } from "../option-rules.ts";
import { refuseUsage } from "../problem.ts";
import { abortOnStop } from "../stopping.ts";
import type { CommonOptions } from "../target/surroundings.ts";

export type SnapshotOptions = CommonOptions & { readonly all?: boolean; readonly file?: string };

export const SNAPSHOT_REMEDIES = {
  not_found: "checkout snapshots list shows the snapshots",
  state_conflict: "checkout snapshots list shows the contents of each snapshot",
  invalid_parameter: "take a new one: checkout snapshots create <name>",
  missing_parameter: "if you trust its author, run the command again with --trust",
} as const;

export function checkSnapshotOptions(
  world: Pick<World, "argv">,
  { all }: SnapshotOptions,
  name: string | undefined,
): void {
  if (name !== undefined && !SNAPSHOT_NAME_PATTERN.test(name)) {
    const expectedText = "1 to 64 of a-z, 0-9, . _ - and begin with a letter or a digit";
    throw refuseUsage(
      `the name of a snapshot must have ${expectedText}; got ${printableLiteral(name)}`,
      name.includes("/") ? `a file has its own option: --file ${name}` : "correct it",
    );
  }
  if (all === true && isOptionTyped(world, "store"))
    throw refuseUsage("--all and --store exclude each other", "leave one of them out");
}

export function snapshotFilesOf(
  { world }: Pick<Context, "world">,
  folder: string | undefined,
): SnapshotFiles {
  if (folder !== undefined) return snapshotsIn(world, folder);
  const message =
    "--file works only with a sandbox that has a state folder on this machine, and this one has none";
  throw refuseUsage(message, "leave --file out: this sandbox keeps its snapshots in memory");
}

export type TemporaryName = { readonly name: string; readonly signal?: AbortSignal };

/**
 * Renames the snapshot to `name` only after `act` has succeeded, so that a failure leaves an existing snapshot of that
 * name unchanged.
 */
export async function withTemporaryName<Value>(
  world: Pick<World, "freshId" | "onStop">,
  { snapshots, name }: { readonly snapshots: SnapshotFiles; readonly name: string | undefined },
  act: (snapshot: TemporaryName) => Promise<Value>,
): Promise<Value> {
  const temporaryName = `unfinished-${world.freshId()}`;
  using stop = abortOnStop(world);
  try {
    const result = await act({ name: temporaryName, signal: stop.signal });
    if (name !== undefined) snapshots.rename(temporaryName, name);
    return result;
  } finally {
    snapshots.remove(temporaryName);
  }
}

export function resolvePath({ cwd }: Pick<World, "cwd">, file: string): string {
  return resolve(cwd, file);
}
