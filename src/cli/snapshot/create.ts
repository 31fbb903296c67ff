import type { AnswerOf } from "../../core/control/operations.ts";
import { printable } from "../../core/text.ts";
import { register, switchOption, valueOption, type Context, type Group } from "../command.ts";
import {
  withTemporaryName,
  checkSnapshotOptions,
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
      valueOption("--file <path>", "also write the snapshot to this file"),
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

function takeSnapshot(context: Context, { file, all }: SnapshotOptions, name: string) {
  const { world } = context;
  return withSandbox<SnapshotAnswer>(context, async (target, folder) => {
    const snapshots = file === undefined ? undefined : snapshotFilesOf(context, folder);
    const scope = all === true ? target : await resolveStore(context, target);
    const operation = all === true ? "createSnapshot" : "createStoreSnapshot";
    const take = ({ name: snapshotName, signal }: TemporaryName) =>
      callAt(context, scope, { name: operation, body: { name: snapshotName }, signal, remedies });
    if (file === undefined || snapshots === undefined) return take({ name });
    return withTemporaryName(world, { snapshots, name }, async (unfinishedSnapshot) => {
      const answer = await take(unfinishedSnapshot);
      const bytes = snapshots.read(unfinishedSnapshot.name);
      if (bytes === undefined) return answer;
      world.files.write(resolvePath(world, file), bytes);
      const { snapshot } = answer;
      return { snapshot: { ...snapshot, name }, replaced: snapshots.size(name) !== undefined };
    });
  });
}
