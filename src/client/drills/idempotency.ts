import type { AnswerOf, RequestOf } from "../../core/control/operations.ts";
import type { ShellResult, World } from "../../world.ts";
import type { ServiceTarget } from "../api/client.ts";
import { callControl, wrapAnswer, type ControlResult, type ControlTarget } from "../control/control.ts";
import { withLease, type HeldLease } from "../control/lease.ts";
import {
  DRILLED_DIGITS,
  createOrderIds,
  type DrilledOrderIds,
} from "../../core/readiness/drilled-order-ids.ts";
import { DRILL_AGENT } from "../../core/network/headers.ts";
import { sendWithRetries } from "../api/exchange.ts";
import { runMerchantCommand } from "../merchant-command.ts";
import { merchantOrderId } from "./merchant-order.ts";
import { DEFAULT_RETRY_POLICY } from "../api/retry.ts";

/** The result of a drill, and how the merchant's command exited. */
export type IdempotencyDrillResult = {
  readonly drill: AnswerOf<"judgeIdempotencyDrill">;
  readonly client: ShellResult;
};

/** Maximum size of each kept output of the command, in bytes. */
const MAX_OUTPUT_BYTES = 4096;
/** Margin of the lease after the timeouts of all runs, in milliseconds, so that the sandbox sees all runs. */
const LEASE_MARGIN_MS = 60_000;
/** Pause before the command is started again, in milliseconds: a key derived from the time in seconds then differs. */
const RESTART_PAUSE_MS = 1100;
/** How long to wait for a create that arrives after its command has ended, in milliseconds. */
const LATE_MS = 3000;
/** Maximum number of starts of the command for one purchase: one more for each answer that it loses. */
const MAX_STARTS = 3;
/** The number of purchases. */
export const PURCHASE_COUNT = 5;
/** Minimum number of runs: one for each purchase, and another one for the purchase in which the command is killed. */
export const MIN_RUNS = PURCHASE_COUNT + 1;
/** Maximum number of runs: the command exits whenever it loses an answer, in two purchases. */
export const MAX_RUNS = MIN_RUNS + 2 * (MAX_STARTS - 1);
/** Total duration of the drill's waits, in milliseconds: a silence, a Retry-After, and the pause before a restart. */
export const TOTAL_WAIT_MS = 5000;

type DrillWorld = Pick<World, "send" | "run" | "sleep" | "after" | "random" | "randomBytes" | "now">;

/** The merchant's command, and the service from which it orders. */
type ClientDrill = {
  readonly commandLine: string;
  readonly commandTimeoutMs: number;
  readonly target: ServiceTarget;
  readonly signal: AbortSignal;
  /** Steps that the command has judged itself; they are recorded with the drill's own. */
  readonly steps?: RequestOf<"judgeIdempotencyDrill">["steps"];
};

/** A running drill with its lease and API key. */
type WatchedDrill = ClientDrill & { readonly control: ControlTarget; readonly lease: HeldLease };

/**
 * Runs a merchant's command for five purchases, against a service that drops answers after the commit: with a reset and
 * a silence in the first purchase, a kill in the second, and a 503 and a 429 in the third, which runs between the kill
 * and the restart. Then reuses a key with another body, and lets the service judge the creates that it has seen. The
 * command's environment contains the drill's API key, but no tokens of the control API.
 */
export function drillIdempotency(
  world: DrillWorld,
  control: ControlTarget,
  wanted: ClientDrill,
): Promise<ControlResult<IdempotencyDrillResult>> {
  const { commandTimeoutMs, signal } = wanted;
  const timeoutMs = MAX_RUNS * commandTimeoutMs + LEASE_MARGIN_MS;
  return withLease(world, control, { drill: "idempotency", timeoutMs, signal }, (lease) =>
    runWatchedDrill(world, { ...wanted, control, lease }),
  );
}

async function runWatchedDrill(
  world: DrillWorld,
  watched: WatchedDrill,
): Promise<ControlResult<IdempotencyDrillResult>> {
  const { control, lease, signal } = watched;
  const { id } = lease;
  const client = await runAll(world, watched);
  if (client.end !== "success") return client;
  const closed = await callControl(world, control, { name: "closeIdempotencyDrill", id, body: {}, signal });
  if (closed.end !== "success") return closed;
  const { reuse } = closed.value;
  if (reuse !== null) await sendReuse(world, watched, reuse);
  const judged = await callControl(world, control, {
    name: "judgeIdempotencyDrill",
    id,
    body: watched.steps === undefined || watched.steps.length === 0 ? {} : { steps: watched.steps },
    signal,
  });
  return judged.end === "success"
    ? { ...judged, value: { drill: judged.value, client: client.value } }
    : judged;
}

/** Runs the command for all purchases, and returns the result of its last run. */
async function runAll(world: DrillWorld, watched: WatchedDrill): Promise<ControlResult<ShellResult>> {
  const ids = await newOrderIds(world, watched);
  if (ids.end !== "success") return ids;
  const { first: firstId, second: secondId, third: thirdId, alike } = ids.value;
  const first = await runUntilAnswered(world, watched, { run: "first", orderId: firstId });
  if (first.end !== "success") return first;
  if (!first.value.hasCome && first.value.client.exitCode === 0) await world.sleep(LATE_MS, watched.signal);
  // If the first purchase has lost no answer, further purchases prove nothing.
  if (!first.value.hasLost) return clientOf(first);
  const killed = await runOnce(world, watched, { run: "killed", orderId: secondId });
  if (killed.end !== "success" || !killed.value.hasLost) return clientOf(killed);
  const between = await runUntilAnswered(world, watched, { run: "between", orderId: thirdId });
  if (between.end !== "success") return between;
  await world.sleep(RESTART_PAUSE_MS, watched.signal);
  const restarted = await runOnce(world, watched, { run: "restarted", orderId: secondId });
  if (restarted.end !== "success") return restarted;
  for (const orderId of alike) {
    const other = await runOnce(world, watched, { run: "alike", orderId });
    if (other.end !== "success") return other;
  }
  return clientOf(restarted);
}

/** Runs the command for a purchase, and again while it fails without having received an answer. */
async function runUntilAnswered(
  world: DrillWorld,
  watched: WatchedDrill,
  run: RequestOf<"beginClientRun">,
): Promise<ControlResult<FinishedRun>> {
  for (let start = 1; ; start += 1) {
    const ran = await runOnce(world, watched, run);
    if (ran.end !== "success") return ran;
    const { client, hasLost, isAnswered } = ran.value;
    const isOpen = hasLost && !isAnswered && client.ending === "exited" && client.exitCode !== 0;
    if (!isOpen || start === MAX_STARTS) return ran;
    // A command that gave up during the pause of a 429 is not started within it.
    if (run.run === "between") await world.sleep(RESTART_PAUSE_MS, watched.signal);
  }
}

/** A finished run: whether it sent a create, lost an answer, and received one. */
type FinishedRun = {
  readonly client: ShellResult;
  readonly hasCome: boolean;
  readonly hasLost: boolean;
  readonly isAnswered: boolean;
};

function clientOf(ran: ControlResult<FinishedRun>): ControlResult<ShellResult> {
  return ran.end === "success" ? wrapAnswer(ran.value.client) : ran;
}

async function runOnce(
  world: DrillWorld,
  watched: WatchedDrill,
  run: RequestOf<"beginClientRun">,
): Promise<ControlResult<FinishedRun>> {
  const { control, lease, signal } = watched;
  const { id } = lease;
  const begun = await callControl(world, control, { name: "beginClientRun", id, body: run, signal });
  if (begun.end !== "success") return begun;
  const kill = new AbortController();
  const running = runClient(world, watched, {
    orderId: run.orderId,
    signal: AbortSignal.any([signal, kill.signal]),
  });
  const waiting = run.run === "killed" ? killWhenLost(world, watched, kill) : undefined;
  const client = await running;
  const wasKilled = kill.signal.aborted && !signal.aborted;
  // If the call that waited for the lost answer failed, the killed command proves nothing.
  const waited = wasKilled ? await waiting : undefined;
  if (waited !== undefined && waited.end !== "success") return waited;
  if (client.ending === "aborted" && !wasKilled) return { end: "interrupted" };
  const { ending, exitCode } = client;
  const body = { ending: wasKilled ? "killed" : ending, exitCode } as const;
  const ended = await callControl(world, control, { name: "endClientRun", id, body });
  if (ended.end !== "success") return ended;
  const { came: hasCome, lost: hasLost, answered: isAnswered } = ended.value;
  return { ...ended, value: { client, hasCome, hasLost, isAnswered } };
}

/** Kills the command after its order was created, while the answer is held back. The wait ends with the run. */
async function killWhenLost(
  world: DrillWorld,
  { control, lease: { id }, commandTimeoutMs }: WatchedDrill,
  kill: AbortController,
): Promise<ControlResult<AnswerOf<"awaitClientRun">>> {
  const timeoutMs = commandTimeoutMs + LEASE_MARGIN_MS;
  const waited = await callControl(world, control, {
    name: "awaitClientRun",
    id,
    body: undefined,
    timeoutMs,
  });
  if (waited.end !== "success" || waited.value.lost) kill.abort();
  return waited;
}

/** An order_id for each purchase, in the form of the merchant's newest order_id. */
async function newOrderIds(
  world: Pick<World, "send" | "randomBytes">,
  { control, signal }: Pick<WatchedDrill, "control" | "signal">,
): Promise<ControlResult<DrilledOrderIds>> {
  const like = await merchantOrderId(world, control, signal);
  if (like.end !== "success") return like;
  return wrapAnswer(createOrderIds(like.value, world.randomBytes(DRILLED_DIGITS)));
}

function runClient(
  world: Pick<World, "run">,
  { commandLine, commandTimeoutMs: timeoutMs, target, lease }: WatchedDrill,
  { orderId, signal }: { readonly orderId: string; readonly signal: AbortSignal },
): Promise<ShellResult> {
  const env = {
    CHECKOUT_BASE_URL: target.baseUrl,
    CHECKOUT_API_KEY: lease.apiKey ?? target.apiKey,
    CHECKOUT_STORE_ID: lease.storeId,
  };
  const command = { commandLine, env, timeoutMs, maxOutputBytes: MAX_OUTPUT_BYTES, signal };
  return runMerchantCommand(world, { ...command, about: { orderId } });
}

/** Sends the request; the sandbox, not the client, judges its answer. */
async function sendReuse(
  world: Pick<World, "send" | "sleep" | "random" | "now">,
  { control, target, lease, signal }: WatchedDrill,
  reuse: NonNullable<AnswerOf<"closeIdempotencyDrill">["reuse"]>,
): Promise<void> {
  const request = {
    method: "POST",
    url: `${control.origin}${reuse.path}`,
    headers: {
      Authorization: `Bearer ${lease.apiKey ?? target.apiKey}`,
      "Content-Type": "application/json",
      "Idempotency-Key": reuse.idempotencyKey,
      "User-Agent": DRILL_AGENT,
    },
    body: JSON.stringify(reuse.body),
  } as const;
  await sendWithRetries(world, request, { policy: DEFAULT_RETRY_POLICY, signal });
}
