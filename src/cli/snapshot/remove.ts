import type { Command } from "commander";
import { encodeAnswer, type AnswerOf } from "../../core/control/operations.ts";
import { printable } from "../../core/text.ts";
import { removeSnapshot } from "../../sandbox/snapshot/named.ts";
import { register, type CommonOptions, type Context, type Registry } from "../command.ts";
import { callSandbox, refusedProblem } from "../target/control.ts";
import { fail, type Ending } from "../problem.ts";
import { atSnapshots, checkCommand, NEXT_AFTER_SNAPSHOT as nextAfter } from "./place.ts";

/** `checkout snapshots remove`. */
export function registerSnapshotsRemove(parent: Command, registry: Registry): void {
  register<CommonOptions>(parent, registry, {
    name: "remove <name>",
    ofStore: false,
    summary: "remove a snapshot; what was restored from it stays",
    examples: ["checkout snapshots remove before-launch"],
    options: [],
    run: runRemove,
  });
}

async function runRemove(context: Context, options: CommonOptions, name = ""): Promise<Ending> {
  const { world, printer } = context;
  const checked = checkCommand(world, options, name);
  if (!checked.ok) return checked;
  const removed = await atSnapshots<AnswerOf<"removeSnapshot">>(context, options, {
    live: (target) => callSandbox(context, target, { name: "removeSnapshot", body: { name }, nextAfter }),
    stopped: async ({ snapshotShelf }) => {
      const done = removeSnapshot(snapshotShelf, name);
      return done.ok ? done : fail(refusedProblem(done.refusal, nextAfter));
    },
  });
  if (!removed.ok) return removed;
  return printer.result(
    encodeAnswer("removeSnapshot", removed.value),
    () => `✓ ${printable(name)} is removed`,
  );
}
