import { lazyValue } from "../../core/lazy.ts";
import { localOrigin } from "../../core/loopback.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import type { Context } from "../command.ts";
import { checkFolderTrust } from "../../host/folder/trust.ts";
import { catchRefusal } from "../problem.ts";
import type { KnownVariables } from "../variables.ts";
import { findSandbox, sandboxOfFolder, resolveStore } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";

/** `warning`: it works but may surprise. `unknown`: it could not be determined, for the reason found. */
export type Finding = readonly [
  status: "ok" | "warning" | "problem" | "unknown",
  found: string,
  next?: string | undefined,
];

/** Changes nothing, and sends requests only to this machine. A refusal that it throws is a problem that it found. */
export type Check = (subjects: CheckSubjects) => Finding | Promise<Finding>;

/** A check of the content of the state folder, which is not read if the folder is not trusted (decision 70). */
export function inFolder(check: Check): Check {
  return (subjects) =>
    subjects.trusted().ok ? check(subjects) : ["unknown", "the state folder is not read"];
}

/** Timeout of each request of the doctor, in milliseconds. */
export const REQUEST_TIMEOUT_MS = 5000;

const MAX_HEALTH_BYTES = 64 * 1024;

/** Each subject is read when it is first used, and may throw then. */
export function createCheckSubjects(
  context: Context,
  options: CommonOptions,
  variables: () => Promise<KnownVariables>,
) {
  const folder = context.around.location();
  const live = lazyValue(() => catchRefusal(context.around.run).value);
  return {
    context,
    options,
    folder,
    variables,
    /** After a refusal, nothing is read from the folder. */
    trusted: lazyValue(() => checkFolderTrust(context.world, folder, options)),
    /** The running sandbox of the folder; undefined if none is running, or if the folder was skipped. */
    live,
    /** The control API that commands would call now, and the store; undefined if no sandbox can be called. */
    control: () => controlOf(context),
    /** The answer of the folder's running sandbox to /healthz, and its time; undefined if none is running. */
    health: lazyValue(() => healthOf(context, live()?.port ?? null)),
  };
}

export type CheckSubjects = Readonly<ReturnType<typeof createCheckSubjects>>;

async function healthOf({ world }: Context, port: number | null) {
  if (port === null) return undefined;
  const before = world.monotonic();
  const answer = await world.send({
    method: "GET",
    url: `${localOrigin(port)}/healthz`,
    headers: {},
    timeoutMs: REQUEST_TIMEOUT_MS,
    maxResponseBytes: MAX_HEALTH_BYTES,
    larger: "cut",
  });
  return { answer, ms: world.monotonic() - before };
}

/** The folder's running sandbox, otherwise the environment's. A separate check compares the versions. */
async function controlOf(context: Context): Promise<ControlTarget | undefined> {
  const target =
    catchRefusal(() => sandboxOfFolder(context)).value ?? catchRefusal(() => findSandbox(context)).value;
  if (target === undefined) return undefined;
  return resolveStore(context, { ...target, onOtherVersion: () => undefined });
}
