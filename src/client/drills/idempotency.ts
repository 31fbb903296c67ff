import type { AnswerOf } from "../../core/control/operations.ts";
import type { ShellResult, World } from "../../world.ts";
import type { Target } from "../api/client.ts";
import { callControl, type ControlResult, type ControlTarget } from "../control/control.ts";
import { exchange } from "../api/exchange.ts";
import { DEFAULT_RETRY_POLICY } from "../api/retry.ts";

/** What a drill has shown, and what became of the merchant's command. */
export type IdempotencyDrill = {
  readonly drill: AnswerOf<"judgeIdempotencyDrill">;
  readonly client: ShellResult;
};

/** So much of each of the command's outputs is kept, in bytes. */
const MAX_OUTPUT_BYTES = 4096;
/** The service watches longer than the command may run, so that it misses nothing of it. */
const WATCH_MARGIN_MS = 60_000;
const ORDER_ID_BYTES = 6;

/**
 * Runs a merchant's command against a service that drops the answer of its first create after the commit, then reuses the
 * key for another body, and has the service judge it all by its own log. The API key is in the command's environment
 * alone; the tokens of the control API are not.
 */
export async function drillIdempotency(
  world: Pick<World, "send" | "run" | "sleep" | "random" | "randomBytes" | "now">,
  control: ControlTarget,
  wanted: {
    readonly commandLine: string;
    readonly commandTimeoutMs: number;
    readonly target: Target;
    readonly signal: AbortSignal;
  },
): Promise<ControlResult<IdempotencyDrill>> {
  const { target, signal } = wanted;
  const timeout = { timeout_ms: wanted.commandTimeoutMs + WATCH_MARGIN_MS };
  // Not to be interrupted: a drill that began without our knowing would take somebody's answer.
  const begun = await callControl(world, control, { name: "beginIdempotencyDrill", body: timeout });
  if (begun.end !== "success") return begun;
  const { id, store_id: storeId } = begun.value;
  const client = await runClient(world, { ...wanted, storeId }).catch(notRun);
  // Also after an interruption: the next create of anybody must get its answer.
  const ended = { ending: client.ending, exit_code: client.exitCode };
  const closed = await callControl(world, control, { name: "closeIdempotencyDrill", id, body: ended });
  if (client.ending === "aborted") return { end: "interrupted" };
  if (closed.end !== "success") return closed;
  const { reuse } = closed.value;
  if (reuse !== null) await sendReuse(world, { reuse, control, target, signal });
  const judged = await callControl(world, control, { name: "judgeIdempotencyDrill", id, body: {}, signal });
  return judged.end === "success" ? { ...judged, value: { drill: judged.value, client } } : judged;
}

/** A command that could not even be started; the drill is closed all the same. */
function notRun(error: unknown): ShellResult {
  const stderr = error instanceof Error ? error.message : String(error);
  return { ending: "not_run", exitCode: null, stdout: "", stderr };
}

function runClient(
  world: Pick<World, "run" | "randomBytes">,
  wanted: {
    readonly commandLine: string;
    readonly commandTimeoutMs: number;
    readonly target: Target;
    readonly storeId: string;
    readonly signal: AbortSignal;
  },
): Promise<ShellResult> {
  const { commandLine, commandTimeoutMs: timeoutMs, target, storeId, signal } = wanted;
  const env = {
    CHECKOUT_BASE_URL: target.baseUrl,
    CHECKOUT_API_KEY: target.apiKey,
    CHECKOUT_STORE_ID: storeId,
    // For whoever wants a new order each time.
    CHECKOUT_ORDER_ID: `drill-${Buffer.from(world.randomBytes(ORDER_ID_BYTES)).toString("hex")}`,
    // The merchant's program is neither of them.
    CHECKOUT_CONTROL_TOKEN: undefined,
    CHECKOUT_ADMIN_TOKEN: undefined,
  };
  return world.run({ commandLine, env, timeoutMs, maxOutputBytes: MAX_OUTPUT_BYTES, signal });
}

/** What came of it stands in the service's log, which is what counts. */
async function sendReuse(
  world: Pick<World, "send" | "sleep" | "random" | "now">,
  wanted: {
    readonly reuse: NonNullable<AnswerOf<"closeIdempotencyDrill">["reuse"]>;
    readonly control: ControlTarget;
    readonly target: Target;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { reuse, control, target, signal } = wanted;
  const request = {
    method: "POST",
    url: `${control.origin}${reuse.path}`,
    headers: {
      Authorization: `Bearer ${target.apiKey}`,
      "Content-Type": "application/json",
      "Idempotency-Key": reuse.idempotency_key,
    },
    body: JSON.stringify(reuse.body),
  } as const;
  await exchange(world, request, { policy: DEFAULT_RETRY_POLICY, signal });
}
