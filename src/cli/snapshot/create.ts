import type { Command } from "commander";
import { encodeAnswer, type AnswerOf } from "../../core/control/operations.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { SnapshotScope } from "../../core/snapshot/snapshot.ts";
import { printable } from "../../core/text.ts";
import { createSnapshot } from "../../sandbox/snapshot/named.ts";
import { register, switchOption, type Context, type Registry } from "../command.ts";
import { callSandbox, inStore, refusedProblem } from "../target/control.ts";
import type { SnapshotFiles } from "../../host/folder/snapshots.ts";
import { fail, type Ending, type Problem } from "../problem.ts";
import { namedStoreOf } from "./named-store.ts";
import {
  atSnapshots,
  besideOlder,
  checkCommand,
  fileOption,
  NEXT_AFTER_SNAPSHOT as nextAfter,
  shelfOf,
  typedPath,
  type ActingName,
  type SnapshotOptions,
} from "./place.ts";

type Created = AnswerOf<"createSnapshot">;

/** `checkout snapshots create`. */
export function registerSnapshotsCreate(parent: Command, registry: Registry): void {
  register<SnapshotOptions>(parent, registry, {
    name: "create <name>",
    summary: "take a snapshot of a store, in the place of an older one of this name",
    examples: [
      "checkout snapshots create before-launch",
      "checkout snapshots create base --all --file fixtures/base.snapshot",
    ],
    options: [
      switchOption("--all", "of the whole sandbox, with all stores"),
      fileOption("write it to this file too"),
    ],
    run: runCreate,
  });
}

async function runCreate(context: Context, options: SnapshotOptions, name = ""): Promise<Ending> {
  const { world, printer } = context;
  const checked = checkCommand(world, options, name);
  if (!checked.ok) return checked;
  const created = await create(context, options, name);
  if (!created.ok) return created;
  return printer.result(encodeAnswer("createSnapshot", created.value), () => {
    const { snapshot, replaced } = created.value;
    const { storeId, bytes } = snapshot;
    const what = storeId === null ? "the whole sandbox" : `store ${storeId}`;
    return `✓ ${printable(name)}: ${what}, ${Math.ceil(bytes / 1024)} KiB${replaced ? ", in the place of an older one" : ""}`;
  });
}

function create(
  context: Context,
  options: SnapshotOptions,
  name: string,
): Promise<Outcome<Created, Problem>> {
  return atSnapshots<Created>(context, options, {
    live: async (target, folder) => {
      const shelf = options.file === undefined ? accept(undefined) : shelfOf(context, folder);
      if (!shelf.ok) return shelf;
      const store = options.all === true ? accept(target) : await inStore(context, options, target);
      if (!store.ok) return store;
      return writtenTo(context, options, { name, shelf: shelf.value }, ({ name: taken, signal }) => {
        const body = { name: taken };
        return options.all === true
          ? callSandbox(context, target, { name: "createSnapshot", body, signal, nextAfter })
          : callSandbox(context, store.value, { name: "createStoreSnapshot", body, signal, nextAfter });
      });
    },
    stopped: async (stopped) => {
      const scope: Outcome<SnapshotScope, Problem> =
        options.all === true ? accept("all") : await namedStoreOf(context, options, stopped);
      if (!scope.ok) return scope;
      return writtenTo(context, options, { name, shelf: stopped.snapshotShelf }, async (taken) => {
        const created = createSnapshot(stopped, taken.name, scope.value);
        return created.ok ? created : fail(refusedProblem(created.refusal, nextAfter));
      });
    },
  });
}

/** Takes a snapshot; where a file is named, it is there under its name once that one was written. */
function writtenTo(
  { world }: Pick<Context, "world">,
  { file }: SnapshotOptions,
  { name, shelf }: { readonly name: string; readonly shelf: SnapshotFiles | undefined },
  act: (taken: ActingName) => Promise<Outcome<Created, Problem>>,
): Promise<Outcome<Created, Problem>> {
  if (file === undefined || shelf === undefined) return act({ name });
  return besideOlder(world, { shelf, name }, async (beside) => {
    const created = await act(beside);
    const bytes = created.ok ? shelf.read(beside.name) : undefined;
    if (!created.ok || bytes === undefined) return created;
    world.files.write(typedPath(world, file), bytes);
    const { snapshot } = created.value;
    return accept({ snapshot: { ...snapshot, name }, replaced: shelf.size(name) !== undefined });
  });
}
