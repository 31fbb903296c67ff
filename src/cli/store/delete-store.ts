import type { Command } from "commander";
import { encodeAnswer } from "../../core/control/operations.ts";
import { accept } from "../../core/outcome.ts";
import { printable } from "../../core/text.ts";
import { register, switchOption, type Context, type Registry } from "../command.ts";
import { failUsage, type Ending } from "../problem.ts";
import { confirm } from "../prompts.ts";
import { callAt } from "../target/call.ts";
import { sandboxStore } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";

type DeleteOptions = CommonOptions & { readonly yes?: boolean };

/** `checkout stores delete`. */
export function registerStoresDelete(parent: Command, registry: Registry): void {
  register<DeleteOptions>(parent, registry, {
    name: "delete <id|name>",
    ofStore: false,
    summary: "delete a store with everything that belongs to it: keys, secrets, endpoints, orders, events",
    examples: ["checkout stores delete <id>", "checkout stores delete <id> --yes --json"],
    options: [switchOption("--yes", "do not ask")],
    run: runDelete,
  });
}

async function runDelete(context: Context, options: DeleteOptions, text = ""): Promise<Ending> {
  const { world, printer } = context;
  const shown = printable(text);
  if (options.yes !== true && !world.interactive)
    return failUsage(`the store ${shown} would be deleted with all that belongs to it`, "add --yes");
  const target = await sandboxStore(context, text);
  if (!target.ok) return target;
  const agreed =
    options.yes === true
      ? accept(undefined)
      : await confirm(world, `Delete the store ${shown} with all that belongs to it?`);
  if (!agreed.ok) return agreed;
  const deleted = await callAt(context, target.value, {
    name: "deleteStore",
    body: {},
    nextAfter: {
      not_found: "checkout stores list shows them",
      state_conflict: "checkout sandbox reset --store <id> deletes what has happened in it",
    },
  });
  if (!deleted.ok) return deleted;
  return printer.result(
    encodeAnswer("deleteStore", deleted.value),
    () => `✓ ${printable(deleted.value.name)} (${deleted.value.storeId}) is deleted`,
  );
}
