import type { Command } from "commander";
import { encodeAnswer, type AnswerOf } from "../../core/control/operations.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { printable } from "../../core/text.ts";
import { resetStores } from "../../sandbox/runtime/erase.ts";
import {
  register,
  switchOption,
  valueOption,
  type CommonOptions,
  type Context,
  type Registry,
} from "../command.ts";
import { callSandbox, controlTargetNow, refusedProblem } from "../target/control.ts";
import { noteTarget } from "../target/notes.ts";
import { inStoppedFolder } from "../folder/stopped.ts";
import { fail, failUsage, type Ending, type Problem } from "../problem.ts";
import { confirm } from "../prompts.ts";

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
  const target = controlTargetNow(context, options);
  if (!target.ok) return target;
  noteTarget(context, options, target.value === undefined ? "folder" : { url: target.value.origin });
  const call = { name: "reset", body: options.store === undefined ? {} : { store: options.store } } as const;
  const done =
    target.value === undefined
      ? await resetFolder(context, options)
      : await callSandbox(context, target.value, { ...call, nextAfter: NEXT_AFTER });
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

/** The same for a folder whose sandbox does not run. */
function resetFolder(context: Context, options: ResetOptions): Promise<Outcome<AnswerOf<"reset">, Problem>> {
  return inStoppedFolder(context, options, async (stopped) => {
    const done = await resetStores(stopped, options.store);
    return done.ok ? accept({ stores: done.value }) : fail(refusedProblem(done.refusal, NEXT_AFTER));
  });
}
