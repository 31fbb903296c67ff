import { accept, type Outcome } from "../../core/outcome.ts";
import { parseRunRecord, type RunRecord } from "../../core/state-files.ts";
import { printable } from "../../core/text.ts";
import type { World } from "../../world.ts";
import { stateFailure, type HostFailure } from "../failure.ts";
import { stateFile } from "./files.ts";
import { isRunningOwner } from "./owner-file.ts";
import { refuseServedFolder, claimFolder, releaseFolder } from "./state-folder.ts";

type HoldWorld = Pick<World, "files" | "pid" | "processStartTime" | "lockFile" | "hostName">;

type Hold = { readonly run: RunRecord; readonly release: () => void };

export async function holdFolder(
  world: HoldWorld,
  folder: string,
  runFields: Pick<RunRecord, "control_token" | "is_guest">,
): Promise<Outcome<Hold, HostFailure>> {
  const path = stateFile(folder, "lock");
  // Creates the lock file here, because SQLite would create it with the umask of the process.
  world.files.createNew(path, "", { endsWithProcess: true });
  const lock = (await world.lockFile?.(path)) ?? { state: "unsupported" };
  if (lock.state === "held") return refuseHeld(world, folder);
  if (lock.state === "refused") return refuseLock(path, lock.reason);
  const unlock = lock.state === "own" ? lock.release : () => undefined;
  let claim: Outcome<RunRecord, HostFailure> | undefined;
  try {
    claim = claimFolder(world, folder, { ...runFields, host: world.hostName?.() });
  } finally {
    // After a refusal, releases the lock, which would otherwise refuse the next attempt of this process.
    if (claim?.ok !== true) unlock();
  }
  if (!claim.ok) return claim;
  const run = claim.value;
  const releaseHold = (): void => {
    try {
      releaseFolder(world, folder, run);
    } finally {
      unlock();
    }
  };
  return accept({ run, release: releaseHold });
}

export async function findHiddenHolder(
  world: Pick<World, "files" | "processStartTime" | "isFileLocked">,
  folder: string,
): Promise<string | undefined> {
  const run = hiddenRun(world, folder);
  if (run === undefined) return undefined;
  return (await world.isFileLocked?.(stateFile(folder, "lock"))) === true ? hiddenProcess(run) : undefined;
}

/**
 * The record of a process that is not visible here, for example in another PID namespace; undefined if the process runs
 * here.
 */
function hiddenRun(world: Pick<World, "files" | "processStartTime">, folder: string): RunRecord | undefined {
  const run = parseRunRecord(world.files.read(stateFile(folder, "run")) ?? "");
  if (run === undefined || isRunningOwner(world, run, world.files.stat(folder)?.id)) return undefined;
  return run;
}

/** Says only what is certain about the lock's holder, because `run.json` may be from an earlier process. */
function hiddenProcess({ pid, host }: RunRecord): string {
  const hostText = host === undefined ? "" : ` on ${printable(host)}`;
  return `a process that cannot be seen from here (run.json names process ${pid}${hostText})`;
}

function refuseHeld(
  world: Pick<World, "files" | "processStartTime">,
  folder: string,
): Outcome<never, HostFailure> {
  const run = hiddenRun(world, folder);
  if (run === undefined) return refuseServedFolder(world, folder);
  return stateFailure({
    code: "already_running",
    message: `a sandbox already serves ${folder}: ${hiddenProcess(run)}`,
    next: "use it or stop it there, or start another one with --dir or --ephemeral",
  });
}

function refuseLock(path: string, reason: string): Outcome<never, HostFailure> {
  return stateFailure({
    code: "state_file_unreadable",
    message: `${path} cannot be locked: ${reason}`,
    next: "give it to the user of this process; if no sandbox serves this folder, delete it: a start makes it again",
  });
}
