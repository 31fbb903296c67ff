import type { AnswerOf } from "../../core/control/operations.ts";
import type { ShellResult, World } from "../../world.ts";
import type { Target } from "../api/client.ts";
import { callControl, type ControlResult, type ControlTarget } from "../control/control.ts";
import { exchange } from "../api/exchange.ts";
import { DEFAULT_RETRY_POLICY } from "../api/retry.ts";

/** The result of a drill, and how the merchant's command ended. */
export type IdempotencyDrill = {
  readonly drill: AnswerOf<"judgeIdempotencyDrill">;
  readonly client: ShellResult;
};

/** Maximum size of each of the command's outputs that is kept, in bytes. */
const MAX_OUTPUT_BYTES = 4096;
/** The service watches longer than the command may run, so that it sees all of it. */
const WATCH_MARGIN_MS = 60_000;
const ORDER_ID_BYTES = 6;

/**
 * Runs a merchant's command against a service that drops the answer of its first create after the commit, then reuses
 * the key for another body, and lets the service decide from its log. The command's environment has the API key, and
 * not the tokens of the control API.
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
  const timeout = { timeoutMs: wanted.commandTimeoutMs + WATCH_MARGIN_MS };
  // Not interruptible: a drill that began without our knowledge would drop an unrelated answer.
  const begun = await callControl(world, control, { name: "beginIdempotencyDrill", body: timeout });
  if (begun.end !== "success") return begun;
  const { id, storeId } = begun.value;
  const client = await runClient(world, { ...wanted, storeId }).catch(notRun);
  // Also after an interruption: the next create must get its answer.
  const ended = { ending: client.ending, exitCode: client.exitCode };
  const closed = await callControl(world, control, { name: "closeIdempotencyDrill", id, body: ended });
  if (client.ending === "aborted") return { end: "interrupted" };
  if (closed.end !== "success") return closed;
  const { reuse } = closed.value;
  if (reuse !== null) await sendReuse(world, { reuse, control, target, signal });
  const judged = await callControl(world, control, { name: "judgeIdempotencyDrill", id, body: {}, signal });
  return judged.end === "success" ? { ...judged, value: { drill: judged.value, client } } : judged;
}

/** The command could not be started; the drill is closed anyway. */
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
    // An unused order_id for each run.
    CHECKOUT_ORDER_ID: `drill-${Buffer.from(world.randomBytes(ORDER_ID_BYTES)).toString("hex")}`,
    // The merchant's program has neither role.
    CHECKOUT_CONTROL_TOKEN: undefined,
    CHECKOUT_ADMIN_TOKEN: undefined,
  };
  return world.run({ commandLine, env, timeoutMs, maxOutputBytes: MAX_OUTPUT_BYTES, signal });
}

/** Only the service's log of it matters. */
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
      "Idempotency-Key": reuse.idempotencyKey,
    },
    body: JSON.stringify(reuse.body),
  } as const;
  await exchange(world, request, { policy: DEFAULT_RETRY_POLICY, signal });
}
