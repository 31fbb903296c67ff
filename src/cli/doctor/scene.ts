import { parseRun, parseRunOwner, type Run } from "../../core/state-files.ts";
import { localOrigin } from "../../core/loopback.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import type { Outcome } from "../../core/outcome.ts";
import type { OutboundResult } from "../../world.ts";
import type { Context } from "../command.ts";
import { stateFile } from "../../host/folder/files.ts";
import { serves } from "../../host/folder/owner-file.ts";
import { checkFolder } from "../../host/folder/trust.ts";
import type { HostFailure } from "../../host/failure.ts";
import { attemptAsync, unlessRefused } from "../problem.ts";
import type { KnownVariables } from "../variables.ts";
import { sandboxIn, sandboxOfFolder, resolveStore } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";

/** Who serves a folder, as its run.json says. */
type Lock =
  | { readonly kind: "none" }
  /** It names no process. */
  | { readonly kind: "torn" }
  /** It is another version's, whose process runs. */
  | { readonly kind: "unreadable" }
  | { readonly kind: "live" | "stale" | "elsewhere"; readonly run: Run };

/** What all checks look at. Every part is found when it is first asked for, and may throw then. */
export type Scene = {
  readonly context: Context;
  readonly options: CommonOptions;
  readonly folder: string;
  /** Refused: then nothing is read from it (decision 70). */
  readonly trusted: () => Outcome<"nothing" | "vacant" | "used", HostFailure>;
  /** Undefined where the folder is not read. */
  readonly lock: () => Lock | undefined;
  /** The control API that commands would call now, and the store; undefined where none is known. */
  readonly control: () => Promise<ControlTarget | undefined>;
  /** What the live sandbox of the folder answers to /healthz; undefined where there is none. */
  readonly health: () => Promise<{ readonly answer: OutboundResult; readonly ms: number } | undefined>;
  /** The variables that the program reads. */
  readonly variables: () => Promise<KnownVariables>;
};

/** How long the doctor waits for an answer, in milliseconds. */
export const PATIENCE_MS = 5000;

const MAX_HEALTH_BYTES = 64 * 1024;

/** What there is to look at from here. Reads nothing yet. */
export function sceneOf(context: Context, options: CommonOptions, variables: Scene["variables"]): Scene {
  const { world } = context;
  const folder = context.around.location();
  const trusted = once(() => checkFolder(world, folder, options));
  const lock = once(() => (trusted().ok ? lockOf(context, folder) : undefined));
  const health = once(() => healthOf(context, lock()));
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
  // A crash can leave an empty one, which names nobody.
  if (text === undefined || text === "") return { kind: "none" };
  const run = parseRun(text);
  const id = world.files.look(folder)?.id;
  if (run === undefined) {
    const owner = parseRunOwner(text);
    return { kind: owner !== undefined && serves(world, owner, id) ? "unreadable" : "torn" };
  }
  if (serves(world, run, id)) return { kind: "live", run };
  return { kind: serves(world, run, run.folder) ? "elsewhere" : "stale", run };
}

async function healthOf({ world }: Context, lock: Lock | undefined) {
  if (lock?.kind !== "live" || lock.run.port === null) return undefined;
  const before = world.monotonic();
  const answer = await world.send({
    method: "GET",
    url: `${localOrigin(lock.run.port)}/healthz`,
    headers: {},
    timeoutMs: PATIENCE_MS,
    maxResponseBytes: MAX_HEALTH_BYTES,
    larger: "cut",
  });
  return { answer, ms: world.monotonic() - before };
}

/**
 * The sandbox of the folder, which the doctor is about; where it has none, that which the environment names. The version
 * of the sandbox is a check of its own.
 */
async function controlOf(context: Context): Promise<ControlTarget | undefined> {
  const target = unlessRefused(() => sandboxOfFolder(context)) ?? unlessRefused(() => sandboxIn(context));
  if (target === undefined) return undefined;
  const found = await attemptAsync(resolveStore(context, { ...target, onOtherVersion: () => undefined }));
  return found.ok ? found.value : undefined;
}

function once<Value>(find: () => Value): () => Value {
  let found: { readonly value: Value } | undefined;
  return () => (found ??= { value: find() }).value;
}
