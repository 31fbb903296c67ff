import { withSandbox } from "../target/with-sandbox.ts";
import type { Command } from "commander";
import { encodeAnswer, type AnswerOf } from "../../core/control/operations.ts";
import { printable } from "../../core/text.ts";
import { register, type Context, type Registry } from "../command.ts";
import type { Ending } from "../problem.ts";
import { checkCommand, NEXT_AFTER_SNAPSHOT as nextAfter } from "./place.ts";
import { callAt } from "../target/call.ts";
import type { CommonOptions } from "../target/surroundings.ts";

/** `checkout snapshots remove`. */
export function registerSnapshotsRemove(parent: Command, registry: Registry): void {
  register<CommonOptions>(parent, registry, {
    name: "remove <name>",
    ofStore: false,
    summary: "remove a snapshot; what was restored from it stays",
    examples: ["checkout snapshots remove before-launch"],
    run: runRemove,
  });
}

async function runRemove(context: Context, options: CommonOptions, name = ""): Promise<Ending> {
  const { world, printer } = context;
  const checked = checkCommand(world, options, name);
  if (!checked.ok) return checked;
  const removed = await withSandbox<AnswerOf<"removeSnapshot">>(context, (target) =>
    callAt(context, target, { name: "removeSnapshot", body: { name }, nextAfter }),
  );
  if (!removed.ok) return removed;
  return printer.result(
    encodeAnswer("removeSnapshot", removed.value),
    () => `✓ ${printable(name)} is removed`,
  );
}
