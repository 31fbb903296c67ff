import type { Command } from "commander";
import { encodeAnswer, type AnswerOf } from "../../core/control/operations.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { printable } from "../../core/text.ts";
import { finishErasures, resetStores, type ErasedStore } from "../../sandbox/runtime/erase.ts";
import { createStoreGate } from "../../sandbox/runtime/store-gate.ts";
import type { Erasure } from "../../store/erasures.ts";
import { openStore, type Store } from "../../store/store.ts";
import { openRequestFile } from "../../store/request/request-file.ts";
import {
  register,
  switchOption,
  valueOption,
  type CommonOptions,
  type Context,
  type Registry,
} from "../command.ts";
import { callSandbox, controlTargetNow } from "../control-command.ts";
import { stateFile } from "../folder/files.ts";
import { noteTarget } from "../folder/notes.ts";
import * as state from "../folder/state-folder.ts";
import {
  EXIT,
  exitCodeOfStatus,
  fail,
  failUsage,
  fileProblem,
  type Ending,
  type Problem,
} from "../problem.ts";
import { confirm } from "../prompts.ts";
import { errorRow } from "../../core/errors.ts";

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

/** The same for a folder whose sandbox does not run: with the folder held, so that none starts meanwhile. */
async function resetFolder(
  context: Context,
  options: ResetOptions,
): Promise<Outcome<AnswerOf<"reset">, Problem>> {
  const { world } = context;
  const found = state.findStateFolder(world, options);
  if (!found.ok) return found;
  const folder = found.value;
  const path = stateFile(folder, "database");
  if (!world.files.exists(path)) return fail(nothingThere(folder));
  const run = state.claimFolder(world, folder, state.newToken(world, "control"));
  if (!run.ok) return run;
  try {
    const opened = openStore(path, { nativeBinding: world.sqliteAddon(), pid: world.pid, scheduler: world });
    if (!opened.ok) return fail(fileProblem("database", opened.refusal));
    try {
      const done = await eraseIn(context, folder, { store: opened.value, wanted: options.store });
      if (done.ok) return accept({ stores: done.value });
      const { code, message } = done.refusal;
      const exitCode = exitCodeOfStatus(errorRow(code)?.status);
      return fail({
        exitCode,
        code,
        message,
        next: code === "not_found" ? NEXT_AFTER.not_found : NEXT_AFTER.state_conflict,
      });
    } finally {
      opened.value.close();
    }
  } finally {
    state.releaseFolder(world, folder, run.value);
  }
}

/** The log of requests is a file of its own, and a broken one is no reason to fail. */
function forgetRequests({ world, printer }: Context, folder: string, storeId: string): void {
  const path = stateFile(folder, "requests");
  if (!world.files.exists(path)) return;
  const log = openRequestFile(path, { nativeBinding: world.sqliteAddon(), pid: world.pid });
  if (!log.ok) return printer.trace(`warning: the log of requests was not emptied: ${log.refusal.message}`);
  log.value.forget(storeId);
  log.value.close();
}

/** What was interrupted before is ended first. Nobody else uses the stores. */
async function eraseIn(
  context: Context,
  folder: string,
  { store, wanted }: { readonly store: Store; readonly wanted: string | undefined },
): Promise<Outcome<readonly ErasedStore[]>> {
  const forgetStore = ({ storeId, kind }: Erasure): void => {
    forgetRequests(context, folder, storeId);
    if (kind === "delete") state.dropStore(context.world, folder, storeId);
  };
  const erasing = {
    store,
    forgetStore,
    storeGate: createStoreGate(context.world, () => undefined),
    assumptions: { forget: () => undefined },
  };
  await finishErasures(erasing);
  return resetStores(erasing, wanted);
}

function nothingThere(folder: string): Problem {
  const message = `there is no state in ${folder}, and no sandbox runs there`;
  return { exitCode: EXIT.unreachable, code: "no_sandbox", message, next: "checkout sandbox start" };
}
