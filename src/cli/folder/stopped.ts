import { accept, isError, type Outcome } from "../../core/outcome.ts";
import { finishErasures, type ErasureContext } from "../../sandbox/runtime/erase.ts";
import { createStoreGate } from "../../sandbox/runtime/store-gate.ts";
import type { Erasure } from "../../store/erasures.ts";
import { openRequestFile } from "../../store/request/request-file.ts";
import { openStore, type Store } from "../../store/store.ts";
import type { CommonOptions, Context } from "../command.ts";
import { EXIT, fail, fileProblem, type Problem } from "../problem.ts";
import { stateFile } from "../../host/folder/files.ts";
import { lostLog } from "../../host/folder/lost-log.ts";
import * as state from "../../host/folder/state-folder.ts";

/** The state of a folder whose sandbox does not run, with what its verbs need. */
export type Stopped = ErasureContext & { readonly folder: string; readonly store: Store };

/**
 * Works on the state of a folder whose sandbox does not run, with the folder held, so that none starts meanwhile. What
 * was interrupted before is ended first. Refuses a folder without a state.
 */
export async function inStoppedFolder<Value>(
  context: Context,
  options: CommonOptions,
  work: (stopped: Stopped) => Promise<Outcome<Value, Problem>>,
): Promise<Outcome<Value, Problem>> {
  const { world } = context;
  const found = state.findStateFolder(world, options);
  if (!found.ok) return found;
  const folder = found.value;
  const path = stateFile(folder, "database");
  if (!world.files.exists(path)) return fail(nothingThere(folder));
  const lost = lostLog(world, folder);
  const run = state.claimFolder(world, folder, { control_token: state.newToken(world, "control") });
  if (!run.ok) return run;
  if (lost !== undefined) context.printer.trace(lost);
  try {
    const opened = openStore(path, { nativeBinding: world.sqliteAddon(), pid: world.pid, scheduler: world });
    if (!opened.ok) return fail(fileProblem("database", opened.refusal));
    try {
      const isThere = storeIsThere(context, folder, opened.value);
      if (!isThere.ok) return isThere;
      const stopped = stoppedIn(context, folder, opened.value);
      await finishErasures(stopped);
      return await work(stopped);
    } finally {
      opened.value.close();
    }
  } finally {
    state.releaseFolder(world, folder, run.value);
  }
}

/** Refuses a database that has lost its store, as a start does. */
function storeIsThere({ world }: Context, folder: string, store: Store): Outcome<void, Problem> {
  if (store.stores.first() !== undefined) return accept(undefined);
  const credentials = state.readCredentials(world, folder);
  return credentials.ok ? state.checkStoreIsThere(folder, credentials.value) : credentials;
}

/** Nobody else uses the stores. */
function stoppedIn(context: Context, folder: string, store: Store): Stopped {
  const { world } = context;
  return {
    folder,
    store,
    world,
    forgetStore: ({ storeId, kind }: Erasure): void => {
      forgetRequests(context, folder, storeId);
      if (kind === "delete") state.dropStore(world, folder, storeId);
    },
    storeGate: createStoreGate(world, () => undefined),
    assumptions: { forget: () => undefined },
    instanceChanged: () => undefined,
  };
}

/** The log of requests is a file of its own, and a broken one is no reason to fail. */
function forgetRequests({ world, printer }: Context, folder: string, storeId: string): void {
  const path = stateFile(folder, "requests");
  if (!world.files.exists(path)) return;
  const report = (sentence: string): void => printer.trace(`warning: ${sentence}`);
  const log = openRequestFile(path, { nativeBinding: world.sqliteAddon(), pid: world.pid, report });
  const warn = (why: string): void => printer.trace(`warning: the log of requests was not emptied: ${why}`);
  if (!log.ok) return warn(log.refusal.message);
  try {
    log.value.forget(storeId);
    log.value.close();
  } catch (error) {
    log.value.closeAfter(error);
    warn(isError(error) ? error.message : String(error));
  }
}

/** The store of a stopped folder that is chosen there, or else the first one. */
export function usualStore(
  context: Pick<Context, "world">,
  { folder, store }: Pick<Stopped, "folder" | "store">,
): Outcome<string, Problem> {
  const chosen = state.readChosenStore(context.world, folder);
  if (!chosen.ok) return chosen;
  return accept(chosen.value ?? store.stores.first()?.id ?? "");
}

function nothingThere(folder: string): Problem {
  const message = `there is no state in ${folder}, and no sandbox runs there`;
  return { exitCode: EXIT.unreachable, code: "no_sandbox", message, next: "checkout sandbox start" };
}
