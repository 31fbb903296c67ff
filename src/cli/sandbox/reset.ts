import { withSandbox } from "../target/with-sandbox.ts";
import type { Command } from "commander";
import { encodeAnswer } from "../../core/control/operations.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { printable } from "../../core/text.ts";
import { register, switchOption, valueOption, type Context, type Registry } from "../command.ts";
import { failUsage, type Ending, type Problem } from "../problem.ts";
import { confirm } from "../prompts.ts";
import { callAt } from "../target/call.ts";
import type { CommonOptions } from "../target/surroundings.ts";

type ResetOptions = CommonOptions & { readonly store?: string; readonly yes?: boolean };

/** `checkout sandbox reset`. */
export function registerSandboxReset(parent: Command, registry: Registry): void {
  register<ResetOptions>(parent, registry, {
    name: "reset",
    ofStore: false,
    summary: "delete everything that has happened; keys, prices, endpoints and other settings stay",
    examples: ["checkout sandbox reset --yes", "checkout sandbox reset --store <id> --yes --json"],
    options: [
      valueOption("--store <id|name>", "only this store (default: all stores of the sandbox)"),
      switchOption("--yes", "do not ask"),
    ],
    run: runReset,
  });
}

async function runReset(context: Context, options: ResetOptions): Promise<Ending> {
  const agreed = await agree(context, options);
  if (!agreed.ok) return agreed;
  const body = options.store === undefined ? {} : { store: options.store };
  const done = await withSandbox(context, (target) =>
    callAt(context, target, { name: "reset", body, nextAfter: NEXT_AFTER }),
  );
  if (!done.ok) return done;
  return context.printer.result(encodeAnswer("reset", done.value), () =>
    done.value.stores.map(({ storeId, name }) => `✓ ${printable(name)} (${storeId}) is as new`).join("\n"),
  );
}

const NEXT_AFTER = {
  not_found: "checkout stores list shows them",
  state_conflict: "name it by its id",
} as const;

async function agree({ world }: Context, { yes, store }: ResetOptions): Promise<Outcome<void, Problem>> {
  if (yes === true) return accept(undefined);
  const what = store === undefined ? "all stores" : `the store ${store}`;
  if (!world.interactive)
    return failUsage(`everything that has happened in ${what} would be deleted`, "add --yes");
  return confirm(world, `Delete everything that has happened in ${printable(what)}?`);
}
