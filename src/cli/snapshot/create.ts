import type { Command } from "commander";
import { encodeAnswer, type AnswerOf } from "../../core/control/operations.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { SnapshotScope } from "../../core/snapshot/snapshot.ts";
import { printable } from "../../core/text.ts";
import { createSnapshot } from "../../sandbox/snapshot/named.ts";
import { register, switchOption, type Context, type Registry } from "../command.ts";
import { callSandbox, inStore, refusedProblem } from "../control-command.ts";
import { fail, type Ending, type Problem } from "../problem.ts";
import { namedStoreOf } from "./named-store.ts";
import {
  atSnapshots,
  checkCommand,
  fileOption,
  NEXT_AFTER_SNAPSHOT as nextAfter,
  shelfOf,
  typedPath,
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
      const shelf = options.file === undefined ? undefined : shelfOf(context, folder);
      if (shelf?.ok === false) return shelf;
      const body = { name };
      const store = options.all === true ? accept(target) : await inStore(context, options, target);
      if (!store.ok) return store;
      const taken =
        options.all === true
          ? await callSandbox(context, target, { name: "createSnapshot", body, nextAfter })
          : await callSandbox(context, store.value, { name: "createStoreSnapshot", body, nextAfter });
      const bytes = taken.ok ? shelf?.value.read(name) : undefined;
      if (bytes !== undefined) copyTo(context, options, bytes);
      return taken;
    },
    stopped: async (stopped) => {
      const scope: Outcome<SnapshotScope, Problem> =
        options.all === true ? accept("all") : await namedStoreOf(context, options, stopped);
      if (!scope.ok) return scope;
      const taken = createSnapshot(stopped, name, scope.value);
      if (!taken.ok) return fail(refusedProblem(taken.refusal, nextAfter));
      const bytes = stopped.snapshotShelf.read(name);
      if (bytes !== undefined) copyTo(context, options, bytes);
      return taken;
    },
  });
}

function copyTo({ world }: Pick<Context, "world">, { file }: SnapshotOptions, bytes: Uint8Array): void {
  if (file !== undefined) world.files.write(typedPath(world, file), bytes);
}
