import { displayStoreName } from "../../core/config/store-name.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import { MAX_SNAPSHOT_BYTES, SNAPSHOT_NAME_PATTERN } from "../../core/snapshot/snapshot.ts";
import { isStoreToken } from "../../core/credential.ts";
import { printable } from "../../core/text.ts";
import { register, switchOption, valueOption, type Context, type Group } from "../command.ts";
import type { World } from "../../world.ts";
import { readCredentials } from "../../host/folder/state-folder.ts";
import { warnAboutHold } from "../sandbox/ready.ts";
import { Refused, refuseUsage } from "../problem.ts";
import { isOptionTyped } from "../option-rules.ts";
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
import { readNamedFile } from "../../host/named-file.ts";
import { answerOutput } from "../output/answer.ts";

type RestoreAnswer = AnswerOf<"restoreSnapshot">;
type RestoreOptions = SnapshotOptions & { readonly trust?: boolean; readonly adopt?: boolean };

export function registerSnapshotsRestore(group: Group): void {
  register<RestoreOptions>(group, {
    name: "restore [name]",
    summary: "restore a snapshot, replacing the current state",
    examples: [
      "checkout snapshots restore before-launch",
      "checkout snapshots restore --all --file fixtures/base.snapshot --trust",
      "checkout snapshots restore base --store <id> --json",
    ],
    options: [
      switchOption("--all", "restore the whole sandbox; stores that are not in the snapshot are deleted"),
      switchOption("--trust", "also restore a snapshot that another sandbox took, or that was changed"),
      switchOption("--adopt", "deliver the pending events in another sandbox's snapshot"),
      valueOption(
        "--file <path>",
        "restore from this file; with a name, also keep it as a snapshot of that name",
      ),
    ],
    run: runRestore,
  });
}

async function runRestore(context: Context, options: RestoreOptions, name?: string): Promise<number> {
  const { world, printer } = context;
  const { file } = options;
  if (name === undefined && file === undefined)
    throw refuseUsage(
      "missing: the name of a snapshot, or --file",
      "checkout snapshots list shows the snapshots",
    );
  checkSnapshotOptions(world, options, name);
  const restoreAnswer = await restoreSnapshot(context, options, name);
  const { newDialects = [] } = restoreAnswer;
  warnAboutHold(context, restoreAnswer);
  for (const id of newDialects)
    printer.trace(
      `warning: store ${id} now has the dialect of the snapshot; checkout whoami --store ${id} shows its names`,
    );
  return printer.result(answerOutput("restoreSnapshot", restoreAnswer), () =>
    restoreAnswer.stores
      .map(
        ({ storeId, name: store }) =>
          `✓ ${printable(displayStoreName(store))} (${storeId}) was restored from ${printable(name ?? file ?? "")}`,
      )
      .join("\n"),
  );
}

function restoreSnapshot(context: Context, options: RestoreOptions, name: string | undefined) {
  const { world } = context;
  const { file, all, trust, adopt } = options;
  return withSandbox<RestoreAnswer>(context, async (target, folder) => {
    // Only a typed `--store` or a store token selects a single store; a variable with a store does not.
    const isStoreRestore = isOptionTyped(world, "store") || isStoreToken(target.token);
    const snapshots = file === undefined ? undefined : snapshotFilesOf(context, folder);
    const scope = isStoreRestore ? await resolveStore(context, target) : target;
    const operation = isStoreRestore ? "restoreStoreSnapshot" : "restoreSnapshot";
    const restore = ({ name: snapshotName, signal }: TemporaryName) => {
      const body = { name: snapshotName, ...(isStoreRestore ? {} : { all }), trust, adopt };
      return callAt(context, scope, { name: operation, body, signal, remedies });
    };
    const bytes = file === undefined ? undefined : readSnapshotFile(world, file);
    const answer =
      snapshots === undefined || bytes === undefined
        ? await restore({ name: name ?? "" })
        : await withTemporaryName(world, { snapshots, name }, (unfinishedSnapshot) => {
            snapshots.write(unfinishedSnapshot.name, bytes);
            return restore(unfinishedSnapshot);
          });
    noteKeys(context, folder, answer);
    return answer;
  });
}

function readSnapshotFile(world: World, file: string): Uint8Array {
  const path = resolvePath(world, file);
  const outcome = readNamedFile(world, path, { maxBytes: MAX_SNAPSHOT_BYTES });
  if (outcome.ok) return outcome.value;
  const { isMissing, reason } = outcome.refusal;
  const code = isMissing ? "file_missing" : "file_refused";
  const message = isMissing ? `there is no file ${printable(path)}` : `${printable(path)} ${reason}`;
  const next = SNAPSHOT_NAME_PATTERN.test(file)
    ? `check the path of --file; checkout snapshots restore ${file} restores a snapshot of that name`
    : "check the path of --file";
  throw new Refused({ code, message, next });
}

/** Snapshots contain no API keys, so the folder has none for a store that is new to this sandbox. */
function noteKeys({ world, printer }: Context, folder: string | undefined, { stores }: RestoreAnswer): void {
  const credentials = folder === undefined ? undefined : readCredentials(world, folder);
  if (credentials?.ok !== true) return;
  for (const { storeId } of stores)
    if (credentials.value?.stores[storeId] === undefined)
      printer.trace(
        `note: this folder has no API key of store ${storeId}; set CHECKOUT_API_KEY to a key, or create one: checkout keys create`,
      );
}
