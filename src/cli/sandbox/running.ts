import { localOrigin } from "../../core/loopback.ts";
import { join } from "node:path";
import { quote } from "../../core/shell/quote.ts";
import { printable } from "../../core/text.ts";
import { FOLDER_NAME } from "../../host/folder/location.ts";
import { stateFolderHint } from "../../host/folder/state-folder.ts";
import type { RunRecord } from "../../core/state-files.ts";
import { fetchDescription } from "../../client/control/describe.ts";
import type { Context } from "../command.ts";
import { noteVersion } from "../target/notes.ts";
import { EXIT, interruptedProblem, Refused, refuseUsage } from "../problem.ts";
import { readyMessageOf, type ReadyMessage } from "../../host/ready.ts";
import type { OutboundResult, World } from "../../world.ts";
import type { SandboxDescription } from "../../core/sandbox/description.ts";

export type RunningSandbox = { readonly run: RunRecord; readonly description: SandboxDescription };

const START_TIMEOUT_MS = 30_000;
const CHECK_INTERVAL_MS = 50;

/** Waits for a sandbox that is starting. Undefined if none is running. */
export async function findRunningSandbox(
  context: Context,
  signal?: AbortSignal,
): Promise<RunningSandbox | undefined> {
  const { world, around } = context;
  const startedAt = world.monotonic();
  for (;;) {
    around.reload();
    const run = around.run();
    if (run === undefined) return undefined;
    if (run.port !== null) return fetchRunningSandbox(context, run);
    if (signal?.aborted === true) throw new Refused(interruptedProblem());
    if (world.monotonic() - startedAt > START_TIMEOUT_MS) throw refuseStarting(run);
    await world.sleep(CHECK_INTERVAL_MS, signal);
  }
}

export function refuseProjectFolder({ world, around }: Context, command: "status" | "stop"): void {
  const folder = around.location();
  const hint = stateFolderHint(world, folder);
  if (hint === "") return;
  const stateFolder = quote(join(folder, FOLDER_NAME));
  throw refuseUsage(
    `${printable(folder)} is not a state folder${printable(hint)}`,
    `checkout sandbox ${command} --dir ${stateFolder}`,
  );
}

const MAX_HEALTH_BYTES = 64 * 1024;

export function fetchHealth(
  { send }: Pick<World, "send">,
  origin: string,
  limits: { readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<OutboundResult> {
  const url = `${origin}/healthz`;
  return send({
    method: "GET",
    url,
    headers: {},
    ...limits,
    maxResponseBytes: MAX_HEALTH_BYTES,
    oversize: "cut",
  });
}

export async function fetchRunningSandbox(context: Context, run: RunRecord): Promise<RunningSandbox> {
  const { world } = context;
  noteVersion(context, run.version);
  const origin = localOrigin(run.port ?? 0);
  const outcome = await fetchDescription(world, { origin, token: run.control_token });
  if (outcome.ok) return { run, description: outcome.value };
  const { hasAnswered, message } = outcome.refusal;
  const versionText = run.version === undefined ? "an older version" : printable(run.version);
  if (hasAnswered) {
    throw new Refused({
      code: "other_version",
      message: `the sandbox of this folder has ${versionText} (pid ${run.pid}): ${message}`,
      next: "run checkout sandbox stop, then start it with this version",
    });
  }
  throw new Refused({
    exitCode: EXIT.unreachable,
    code: "unreachable",
    message: `the sandbox of this folder (pid ${run.pid}, ${origin}) does not answer: ${message}`,
    next: "run checkout sandbox stop, then start it again",
  });
}

function refuseStarting({ pid }: RunRecord): Refused {
  return new Refused({
    exitCode: EXIT.unreachable,
    code: "starting",
    message: `the sandbox of this folder (pid ${pid}) is still starting after ${START_TIMEOUT_MS / 1000} s`,
    next: "wait for it: checkout sandbox wait; or run checkout sandbox stop",
  });
}

export function runningReadyMessage(
  { around }: Context,
  { run, description, signInUrl = null }: RunningSandbox & { readonly signInUrl?: string | null },
): ReadyMessage {
  const keptCredentials = around.credentials();
  const apiKey = keptCredentials.stores[description.storeId]?.api_key ?? null;
  const ownAccess = { apiKey, controlToken: run.control_token, alreadyRunning: true, signInUrl };
  return readyMessageOf(description, ownAccess);
}
