import type { AnswerOf } from "../../core/control/operations.ts";
import { printable } from "../../core/text.ts";
import { register, switchOption, type Context, type Group } from "../command.ts";
import type { SnapshotFiles } from "../../host/folder/snapshots.ts";
import {
  withTemporaryName,
  checkSnapshotOptions,
  fileOption,
  SNAPSHOT_REMEDIES as remedies,
  snapshotFilesOf,
  resolvePath,
  type TemporaryName,
  type SnapshotOptions,
} from "./place.ts";
import { callAt } from "../target/call.ts";
import { resolveStore, withSandbox } from "../target/control.ts";
import { answerOutput } from "../output/answer.ts";

type SnapshotAnswer = AnswerOf<"createSnapshot">;

export function registerSnapshotsCreate(group: Group): void {
  register<SnapshotOptions>(group, {
    name: "create <name>",
    summary: "take a snapshot of a store, replacing an existing snapshot of the same name",
    examples: [
      "checkout snapshots create before-launch",
      "checkout snapshots create base --all --file fixtures/base.snapshot",
    ],
    options: [
      switchOption("--all", "take a snapshot of the whole sandbox, with all stores"),
      fileOption("also write the snapshot to this file"),
    ],
    run: runCreate,
  });
}

async function runCreate(context: Context, options: SnapshotOptions, name = ""): Promise<number> {
  const { world, printer } = context;
  checkSnapshotOptions(world, options, name);
  const createdSnapshot = await takeSnapshot(context, options, name);
  return printer.result(answerOutput("createSnapshot", createdSnapshot), () => {
    const { snapshot, replaced } = createdSnapshot;
    const { storeId, bytes } = snapshot;
    const scopeText = storeId === null ? "the whole sandbox" : `store ${storeId}`;
    return `✓ ${printable(name)}: ${scopeText}, ${Math.ceil(bytes / 1024)} KiB${replaced ? ", replacing an existing snapshot" : ""}`;
  });
}

function takeSnapshot(context: Context, options: SnapshotOptions, name: string): Promise<SnapshotAnswer> {
  return withSandbox<SnapshotAnswer>(context, async (target, folder) => {
    const snapshots = options.file === undefined ? undefined : snapshotFilesOf(context, folder);
    const storeTarget = options.all === true ? target : await resolveStore(context, target);
    return takeToFile(context, options, { name, snapshots }, ({ name: snapshotName, signal }) => {
      const body = { name: snapshotName };
      return options.all === true
        ? callAt(context, target, { name: "createSnapshot", body, signal, remedies })
        : callAt(context, storeTarget, { name: "createStoreSnapshot", body, signal, remedies });
    });
  });
}

/** Takes a snapshot. A snapshot with a file gets its name only after the file was written. */
function takeToFile(
  { world }: Pick<Context, "world">,
  { file }: SnapshotOptions,
  { name, snapshots }: { readonly name: string; readonly snapshots: SnapshotFiles | undefined },
  act: (snapshot: TemporaryName) => Promise<SnapshotAnswer>,
): Promise<SnapshotAnswer> {
  if (file === undefined || snapshots === undefined) return act({ name });
  return withTemporaryName(world, { snapshots, name }, async (unfinishedSnapshot) => {
    const answer = await act(unfinishedSnapshot);
    const bytes = snapshots.read(unfinishedSnapshot.name);
    if (bytes === undefined) return answer;
    world.files.write(resolvePath(world, file), bytes);
    const { snapshot } = answer;
    return { snapshot: { ...snapshot, name }, replaced: snapshots.size(name) !== undefined };
  });
}
