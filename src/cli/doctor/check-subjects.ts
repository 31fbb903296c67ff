import { parseRunRecord, parseRunOwner, type RunRecord } from "../../core/state-files.ts";
import { lazyValue } from "../../core/lazy.ts";
import { localOrigin } from "../../core/loopback.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import type { Outcome } from "../../core/outcome.ts";
import type { OutboundResult } from "../../world.ts";
import type { Context } from "../command.ts";
import { stateFile } from "../../host/folder/files.ts";
import { isRunningOwner } from "../../host/folder/owner-file.ts";
import { checkFolderTrust } from "../../host/folder/trust.ts";
import type { HostFailure } from "../../host/failure.ts";
import { catchRefusal } from "../problem.ts";
import type { KnownVariables } from "../variables.ts";
import { findSandbox, sandboxOfFolder, resolveStore } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";

/** The lock of a folder, as its run.json describes it. */
type Lock =
  | { readonly kind: "none" }
  /** The file does not name a process. */
  | { readonly kind: "torn" }
  /** The file was written by another version, whose process is running. */
  | { readonly kind: "unreadable" }
  | { readonly kind: "live" | "stale" | "elsewhere"; readonly run: RunRecord };

/** The subjects of all checks. Each is read when it is first used, and may throw then. */
export type CheckSubjects = {
  readonly context: Context;
  readonly options: CommonOptions;
  readonly folder: string;
  /** After a refusal, nothing is read from the folder (decision 70). */
  readonly trusted: () => Outcome<"nothing" | "vacant" | "used", HostFailure>;
  /** Undefined if the folder was skipped. */
  readonly lock: () => Lock | undefined;
  /** The control API that commands would call now, and the store; undefined if no sandbox can be called. */
  readonly control: () => Promise<ControlTarget | undefined>;
  /** The answer of the folder's running sandbox to /healthz; undefined if none is running. */
  readonly health: () => Promise<{ readonly answer: OutboundResult; readonly ms: number } | undefined>;
  /** The variables that the program reads. */
  readonly variables: () => Promise<KnownVariables>;
};

/** Timeout of each request of the doctor, in milliseconds. */
export const REQUEST_TIMEOUT_MS = 5000;

const MAX_HEALTH_BYTES = 64 * 1024;

/** Returns the subjects of the checks; reads nothing yet. */
export function createCheckSubjects(
  context: Context,
  options: CommonOptions,
  variables: CheckSubjects["variables"],
): CheckSubjects {
  const { world } = context;
  const folder = context.around.location();
  const trusted = lazyValue(() => checkFolderTrust(world, folder, options));
  const lock = lazyValue(() => (trusted().ok ? lockOf(context, folder) : undefined));
  const health = lazyValue(() => healthOf(context, lock()));
  return {
    context,
    options,
    folder,
    trusted,
    lock,
    control: () => controlOf(context),
    health,
    variables,
  };
}

function lockOf({ world }: Context, folder: string): Lock {
  const text = world.files.read(stateFile(folder, "run"));
  // A crash can leave an empty file, which names no process.
  if (text === undefined || text === "") return { kind: "none" };
  const run = parseRunRecord(text);
  const id = world.files.look(folder)?.id;
  if (run === undefined) {
    const owner = parseRunOwner(text);
    return { kind: owner !== undefined && isRunningOwner(world, owner, id) ? "unreadable" : "torn" };
  }
  if (isRunningOwner(world, run, id)) return { kind: "live", run };
  return { kind: isRunningOwner(world, run, run.folder) ? "elsewhere" : "stale", run };
}

async function healthOf({ world }: Context, lock: Lock | undefined) {
  if (lock?.kind !== "live" || lock.run.port === null) return undefined;
  const before = world.monotonic();
  const answer = await world.send({
    method: "GET",
    url: `${localOrigin(lock.run.port)}/healthz`,
    headers: {},
    timeoutMs: REQUEST_TIMEOUT_MS,
    maxResponseBytes: MAX_HEALTH_BYTES,
    larger: "cut",
  });
  return { answer, ms: world.monotonic() - before };
}

/**
 * The running sandbox of the folder, otherwise the sandbox that the environment names. A separate check compares the
 * sandbox's version.
 */
async function controlOf(context: Context): Promise<ControlTarget | undefined> {
  const target =
    catchRefusal(() => sandboxOfFolder(context)).value ?? catchRefusal(() => findSandbox(context)).value;
  if (target === undefined) return undefined;
  const found = await catchRefusal(resolveStore(context, { ...target, onOtherVersion: () => undefined }));
  return found.ok ? found.value : undefined;
}
