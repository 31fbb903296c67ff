import { shownStoreName } from "../../core/config/store-name.ts";
import { withSandbox } from "../target/with-sandbox.ts";
import { encodeAnswer, type AnswerOf } from "../../core/control/operations.ts";
import { MAX_SNAPSHOT_BYTES } from "../../core/snapshot/snapshot.ts";
import { printable } from "../../core/text.ts";
import { register, switchOption, type Context, type Group } from "../command.ts";
import type { SnapshotFiles } from "../../host/folder/snapshots.ts";
import { readCredentials } from "../../host/folder/state-folder.ts";
import { EXIT, Refused } from "../problem.ts";
import { isStoreTyped } from "../target/named-store.ts";
import {
  besideOlder,
  checkCommand,
  fileOption,
  NEXT_AFTER_SNAPSHOT as nextAfter,
  shelfOf,
  typedPath,
  type ActingName,
  type SnapshotOptions,
} from "./place.ts";
import { callAt } from "../target/call.ts";
import { inStore } from "../target/control.ts";
import { readNamed } from "../../host/named-file.ts";

type Restored = AnswerOf<"restoreSnapshot">;
type RestoreOptions = SnapshotOptions & { readonly adopt?: boolean };

/** `checkout snapshots restore`. */
export function registerSnapshotsRestore(group: Group): void {
  register<RestoreOptions>(group, {
    name: "restore <name>",
    summary: "put what a snapshot holds in the place of what is there",
    examples: [
      "checkout snapshots restore before-launch",
      "checkout snapshots restore base --all --file fixtures/base.snapshot",
      "checkout snapshots restore base --store <id> --json",
    ],
    options: [
      switchOption("--all", "the whole sandbox; other stores are deleted"),
      switchOption("--adopt", "deliver what is due in a snapshot of another sandbox"),
      fileOption("take it from this file; once it is restored, it has this name"),
    ],
    run: runRestore,
  });
}

async function runRestore(context: Context, options: RestoreOptions, name = ""): Promise<number> {
  const { world, printer } = context;
  checkCommand(world, options, name);
  const restored = await restore(context, options, name);
  const { heldBack } = restored;
  if (heldBack !== null) printer.trace(`warning: no events are delivered: ${heldBack}`);
  return printer.result(encodeAnswer("restoreSnapshot", restored), () =>
    restored.stores
      .map(
        ({ storeId, name: store }) =>
          `✓ ${printable(shownStoreName(store))} (${storeId}) is as in ${printable(name)}`,
      )
      .join("\n"),
  );
}

function restore(context: Context, options: RestoreOptions, name: string): Promise<Restored> {
  // What a variable says of a store is about commands that have to act on one.
  const isOfStore = isStoreTyped(context.world);
  return withSandbox<Restored>(context, async (target, folder) => {
    const shelf = options.file === undefined ? undefined : shelfOf(context, folder);
    const store = isOfStore ? await inStore(context, target) : target;
    const all = options.all === true ? { all: true } : {};
    const adopt = options.adopt === true ? { adopt: true } : {};
    const done = await takenFrom(context, options, { name, shelf }, (taken) =>
      isOfStore
        ? callAt(context, store, {
            name: "restoreStoreSnapshot",
            body: { name: taken.name, ...adopt },
            signal: taken.signal,
            nextAfter,
          })
        : callAt(context, target, {
            name: "restoreSnapshot",
            body: { name: taken.name, ...all, ...adopt },
            signal: taken.signal,
            nextAfter,
          }),
    );
    noteKeys(context, folder, done);
    return done;
  });
}

/** Restores a snapshot that is there, or the one in a file, which is there under this name once it was restored. */
function takenFrom(
  { world }: Pick<Context, "world">,
  { file }: SnapshotOptions,
  { name, shelf }: { readonly name: string; readonly shelf: SnapshotFiles | undefined },
  act: (taken: ActingName) => Promise<Restored>,
): Promise<Restored> {
  if (file === undefined || shelf === undefined) return act({ name });
  const path = typedPath(world, file);
  const read = readNamed(world, path, { maxBytes: MAX_SNAPSHOT_BYTES });
  if (!read.ok) {
    const { isMissing, why } = read.refusal;
    const code = isMissing ? "file_missing" : "file_refused";
    const message = isMissing ? `there is no file ${printable(path)}` : `${printable(path)} ${why}`;
    throw new Refused({ exitCode: EXIT.failed, code, message, next: "name the file of a snapshot" });
  }
  return besideOlder(world, { shelf, name }, (beside) => {
    shelf.write(beside.name, read.value);
    return act(beside);
  });
}

/** No key is in a snapshot: who has one of a store that was not here can use it, and commands have none. */
function noteKeys({ world, printer }: Context, folder: string | undefined, { stores }: Restored): void {
  const kept = folder === undefined ? undefined : readCredentials(world, folder);
  if (kept?.ok !== true) return;
  for (const { storeId } of stores)
    if (kept.value?.stores[storeId] === undefined)
      printer.trace(
        `note: this folder has no API key of store ${storeId}; set CHECKOUT_API_KEY to one, or make one with checkout keys create`,
      );
}
