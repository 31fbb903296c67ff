import type { AnswerOf } from "../../core/control/operations.ts";
import type { ShellResult, World } from "../../world.ts";
import type { Target } from "../api/client.ts";
import { callControl, type ControlResult, type ControlTarget } from "../control/control.ts";
import { whileLeased, type HeldLease } from "../control/lease.ts";
import { exchange } from "../api/exchange.ts";
import { DEFAULT_RETRY_POLICY } from "../api/retry.ts";

/** The result of a drill, and how the merchant's command ended. */
export type IdempotencyDrill = {
  readonly drill: AnswerOf<"judgeIdempotencyDrill">;
  readonly client: ShellResult;
};

/** Maximum size of each of the command's outputs that is kept, in bytes. */
const MAX_OUTPUT_BYTES = 4096;
/** The lease lasts longer than the command may run, so that the service sees all of it. */
const LEASE_MARGIN_MS = 60_000;
const ORDER_ID_BYTES = 6;

type DrillWorld = Pick<World, "send" | "run" | "sleep" | "after" | "random" | "randomBytes" | "now">;

/** The merchant's command, and the service that it is run against. */
type ClientDrill = {
  readonly commandLine: string;
  readonly commandTimeoutMs: number;
  readonly target: Target;
  readonly signal: AbortSignal;
};

/**
 * Runs a merchant's command against a service that drops the answer of its first create after the commit, then reuses
 * the key for another body, and lets the service decide from its log. The command's environment has the API key, and
 * not the tokens of the control API.
 */
export function drillIdempotency(
  world: DrillWorld,
  control: ControlTarget,
  wanted: ClientDrill,
): Promise<ControlResult<IdempotencyDrill>> {
  const { commandTimeoutMs, signal } = wanted;
  const lease = { drill: "idempotency", timeoutMs: commandTimeoutMs + LEASE_MARGIN_MS, signal } as const;
  return whileLeased(world, control, lease, (held) => drillWatched(world, control, { ...wanted, ...held }));
}

async function drillWatched(
  world: DrillWorld,
  control: ControlTarget,
  wanted: ClientDrill & HeldLease,
): Promise<ControlResult<IdempotencyDrill>> {
  const { id, target, signal } = wanted;
  const client = await runClient(world, wanted).catch(notRun);
  if (client.ending === "aborted") return { end: "interrupted" };
  const ended = { ending: client.ending, exitCode: client.exitCode };
  const closed = await callControl(world, control, { name: "closeIdempotencyDrill", id, body: ended });
  if (closed.end !== "success") return closed;
  const { reuse } = closed.value;
  if (reuse !== null) await sendReuse(world, { reuse, control, target, signal });
  const judged = await callControl(world, control, { name: "judgeIdempotencyDrill", id, body: {}, signal });
  return judged.end === "success" ? { ...judged, value: { drill: judged.value, client } } : judged;
}

/** The command could not be started; that is a result, too. */
function notRun(error: unknown): ShellResult {
  const stderr = error instanceof Error ? error.message : String(error);
  return { ending: "not_run", exitCode: null, stdout: "", stderr };
}

function runClient(
  world: Pick<World, "run" | "randomBytes">,
  wanted: ClientDrill & Pick<HeldLease, "storeId">,
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
