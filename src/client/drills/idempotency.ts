import type { AnswerOf, RequestOf } from "../../core/control/operations.ts";
import { CLIENT_RUNS } from "../../core/readiness/names.ts";
import type { ShellResult, World } from "../../world.ts";
import type { Target } from "../api/client.ts";
import { callControl, succeeded, type ControlResult, type ControlTarget } from "../control/control.ts";
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
/** The lease lasts longer than the command may run in all its runs, so that the service sees all of them. */
const LEASE_MARGIN_MS = 60_000;
/** Pause before the command is started again, in milliseconds, so that a key from the time in seconds is another one. */
const RESTART_PAUSE_MS = 1100;
const ORDER_ID_BYTES = 6;

type DrillWorld = Pick<World, "send" | "run" | "sleep" | "after" | "random" | "randomBytes" | "now">;

/** The merchant's command, and the service that it is run against. */
type ClientDrill = {
  readonly commandLine: string;
  readonly commandTimeoutMs: number;
  readonly target: Target;
  readonly signal: AbortSignal;
};

/** A drill that is under way: it has a lease and an API key of its own. */
type Watched = ClientDrill & { readonly control: ControlTarget; readonly lease: HeldLease };

/**
 * Runs a merchant's command against a service that drops the answer of its first create after the commit; runs it for a
 * second purchase, kills it when the order is made, and runs it again; then reuses the key for another body, and lets the
 * service decide by what it has seen. The command's environment has the drill's own API key, and not the tokens of the
 * control API.
 */
export function drillIdempotency(
  world: DrillWorld,
  control: ControlTarget,
  wanted: ClientDrill,
): Promise<ControlResult<IdempotencyDrill>> {
  const { commandTimeoutMs, signal } = wanted;
  const timeoutMs = CLIENT_RUNS.length * commandTimeoutMs + LEASE_MARGIN_MS;
  return whileLeased(world, control, { drill: "idempotency", timeoutMs, signal }, (lease) =>
    drillWatched(world, { ...wanted, control, lease }),
  );
}

async function drillWatched(world: DrillWorld, watched: Watched): Promise<ControlResult<IdempotencyDrill>> {
  const { control, lease, signal } = watched;
  const { id } = lease;
  const client = await runAll(world, watched);
  if (client.end !== "success") return client;
  const closed = await callControl(world, control, { name: "closeIdempotencyDrill", id, body: {} });
  if (closed.end !== "success") return closed;
  const { reuse } = closed.value;
  if (reuse !== null) await sendReuse(world, watched, reuse);
  const judged = await callControl(world, control, { name: "judgeIdempotencyDrill", id, body: {}, signal });
  return judged.end === "success"
    ? { ...judged, value: { drill: judged.value, client: client.value } }
    : judged;
}

/** Runs the command for both purchases, and returns how it ended last. */
async function runAll(world: DrillWorld, watched: Watched): Promise<ControlResult<ShellResult>> {
  const [firstId, secondId] = [newOrderId(world), newOrderId(world)];
  const first = await runOnce(world, watched, { run: "first", orderId: firstId });
  // Without a first purchase a second one shows nothing.
  if (first.end !== "success" || !first.value.hasLost) return clientOf(first);
  const killed = await runOnce(world, watched, { run: "killed", orderId: secondId });
  if (killed.end !== "success" || !killed.value.hasLost) return clientOf(killed);
  await world.sleep(RESTART_PAUSE_MS, watched.signal);
  if (watched.signal.aborted) return { end: "interrupted" };
  return clientOf(await runOnce(world, watched, { run: "restarted", orderId: secondId }));
}

/** A run that has ended, and whether the service kept an answer from it. */
type Ran = { readonly client: ShellResult; readonly hasLost: boolean };

function clientOf(ran: ControlResult<Ran>): ControlResult<ShellResult> {
  return ran.end === "success" ? succeeded(ran.value.client) : ran;
}

async function runOnce(
  world: DrillWorld,
  watched: Watched,
  run: RequestOf<"beginClientRun">,
): Promise<ControlResult<Ran>> {
  const { control, lease, signal } = watched;
  const { id } = lease;
  const begun = await callControl(world, control, { name: "beginClientRun", id, body: run });
  if (begun.end !== "success") return begun;
  const kill = new AbortController();
  const running = runClient(world, watched, {
    orderId: run.orderId,
    signal: AbortSignal.any([signal, kill.signal]),
  });
  if (run.run === "killed") void killWhenLost(world, watched, kill);
  const client = await running;
  const wasKilled = kill.signal.aborted && !signal.aborted;
  if (client.ending === "aborted" && !wasKilled) return { end: "interrupted" };
  const { ending, exitCode } = client;
  const body = { ending: wasKilled ? "killed" : ending, exitCode } as const;
  const ended = await callControl(world, control, { name: "endClientRun", id, body });
  return ended.end === "success" ? { ...ended, value: { client, hasLost: ended.value.lost } } : ended;
}

/** Kills the command when its order is made and its answer held back. The wait ends with the run. */
async function killWhenLost(
  world: DrillWorld,
  { control, lease: { id }, commandTimeoutMs }: Watched,
  kill: AbortController,
): Promise<void> {
  const timeoutMs = commandTimeoutMs + LEASE_MARGIN_MS;
  const waited = await callControl(world, control, {
    name: "awaitClientRun",
    id,
    body: undefined,
    timeoutMs,
  });
  if (waited.end !== "success" || waited.value.lost) kill.abort();
}

/** An unused order_id for each purchase. */
function newOrderId({ randomBytes }: Pick<World, "randomBytes">): string {
  return `drill-${Buffer.from(randomBytes(ORDER_ID_BYTES)).toString("hex")}`;
}

function runClient(
  world: Pick<World, "run">,
  { commandLine, commandTimeoutMs: timeoutMs, target, lease }: Watched,
  { orderId, signal }: { readonly orderId: string; readonly signal: AbortSignal },
): Promise<ShellResult> {
  const env = {
    CHECKOUT_BASE_URL: target.baseUrl,
    CHECKOUT_API_KEY: lease.apiKey ?? target.apiKey,
    CHECKOUT_STORE_ID: lease.storeId,
    CHECKOUT_ORDER_ID: orderId,
    // The merchant's program has neither role.
    CHECKOUT_CONTROL_TOKEN: undefined,
    CHECKOUT_ADMIN_TOKEN: undefined,
    CHECKOUT_SANDBOX_CONTROL_TOKEN: undefined,
    CHECKOUT_SANDBOX_ADMIN_TOKEN: undefined,
  };
  return world.run({ commandLine, env, timeoutMs, maxOutputBytes: MAX_OUTPUT_BYTES, signal }).catch(notRun);
}

/** The command could not be started; that is a result, too. */
function notRun(error: unknown): ShellResult {
  const stderr = error instanceof Error ? error.message : String(error);
  return { ending: "not_run", exitCode: null, stdout: "", stderr };
}

/** Only what the service sees of it matters. */
async function sendReuse(
  world: Pick<World, "send" | "sleep" | "random" | "now">,
  { control, target, lease, signal }: Watched,
  reuse: NonNullable<AnswerOf<"closeIdempotencyDrill">["reuse"]>,
): Promise<void> {
  const request = {
    method: "POST",
    url: `${control.origin}${reuse.path}`,
    headers: {
      Authorization: `Bearer ${lease.apiKey ?? target.apiKey}`,
      "Content-Type": "application/json",
      "Idempotency-Key": reuse.idempotencyKey,
    },
    body: JSON.stringify(reuse.body),
  } as const;
  await exchange(world, request, { policy: DEFAULT_RETRY_POLICY, signal });
}
