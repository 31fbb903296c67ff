// Runs one schedule: makes the purchase under its faults, acts as the payer, moves the clock until nothing is due, and
// reads the view. The application is a `Stage`: functions (testing/explore/stage.ts) or commands
// (client/judge/command-stages.ts).
import { isFinal } from "../../core/checkout/payment.ts";
import type { SimulatedOutcome } from "../../core/checkout/reserved-order-id.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import {
  checkoutOfRun,
  isAnsweredWithSecret,
  isRequestWithSecret,
  requestLines,
  observedRequests,
  type RunCheckout,
  type PurchaseResult,
  type RunFacts,
  type SecretPlace,
} from "../../core/judge/facts.ts";
import { brokenVerdicts, canImprove, judgeRun, type Judgement } from "../../core/explore/judge.ts";
import {
  isKill,
  type PayerOutcome,
  type Schedule,
  type ScheduledFault,
} from "../../core/judge/schedule.ts";
import type { ShownOrder } from "../../core/judge/view.ts";
import { entryLine } from "../../core/explain/span.ts";
import { isApiAction } from "../../core/fault/actions.ts";
import { printable } from "../../core/text.ts";
import type { World } from "../../world.ts";
import type { CallOperation } from "../control/control.ts";
import { faultBody, leftFaults, watchKills } from "./faults.ts";
import { poll } from "../poll.ts";

/** The result of a purchase. `unnamed`: a success that does not say which order was created. */
export type StageResult = PurchaseResult | { readonly end: "unnamed" };

/** An application and its store, for one schedule. */
export type Stage = {
  readonly storeId: string;
  /** For a store with other orders: the order_id and the endpoint of this run, and the earlier checkouts. */
  readonly within?: {
    readonly orderId: string;
    readonly endpointId: string;
    readonly before: ReadonlySet<string>;
  };
  readonly purchase: () => Promise<StageResult>;
  /** Reads the application's view of an order; throws if the view cannot be read. Without a view, no order is paid. */
  readonly view?: (checkout: RunCheckout) => Promise<ShownOrder>;
  /** Returns to the application as its customer, who has a checkout. */
  readonly returns?: (checkout: RunCheckout) => Promise<unknown>;
  /** Kills all processes of the application, and restarts the processes that serve. */
  readonly kill?: () => Promise<void>;
  /** Whether the application failed to restart after it was killed. */
  readonly isDown?: () => boolean;
  /** The places in which a secret was seen: the stage adds its output and its views, the run adds all other places. */
  readonly secretPlaces: Set<SecretPlace>;
  readonly close: () => Promise<unknown>;
};

/** The applications under test, and the sandbox with their stores. */
export type StageFactory = {
  readonly world: Pick<World, "sleep" | "monotonic">;
  readonly call: CallOperation;
  readonly open: (schedule: Schedule) => Promise<Stage>;
  readonly signal: AbortSignal;
};

/** A run of a schedule. */
export type ExploreRun = {
  readonly facts: RunFacts;
  readonly judgement: Judgement;
  /** The timeline of the run as text; empty if no invariant was broken. */
  readonly story: string;
  /** The error of the last reading of the view, if the view could not be read. */
  readonly viewError: unknown;
};

/** Real time within which a view must show a booking after all deliveries, in milliseconds. */
const VIEW_PATIENCE_MS = 3000;
/** Pause between two readings of a view, in milliseconds. */
const VIEW_PAUSE_MS = 25;
/** Span by which the clock moves for the first attempts of deliveries, in milliseconds. */
const FIRST_ATTEMPTS_MS = 500;
/** Span within which an order expires and its deliveries use all their attempts, in milliseconds. */
const TO_THE_END_MS = 72 * 3_600_000;
/** Maximum number of such spans, for longer delivery schedules. */
const MAX_SPANS = 5;
const MAX_LISTED = 1000;
/** Maximum number of checkouts that are read from a store, the newest first. */
export const MAX_CHECKOUTS = 200;
/** Runs a schedule on a new stage. Real time passes only for the application; the store's clock is moved. */
export async function runSchedule(stages: StageFactory, schedule: Schedule): Promise<ExploreRun> {
  const stage = await stages.open(schedule);
  try {
    return await play({ ...stages, stage }, schedule);
  } finally {
    await stage.close();
  }
}

type Play = Omit<StageFactory, "open"> & { readonly stage: Stage };

async function play(stages: Play, schedule: Schedule): Promise<ExploreRun> {
  const { stage, world, signal } = stages;
  const added = await addFaults(stages, schedule);
  const killedAt = added.flatMap(({ id, action }) => (isKill(action) ? [id] : []));
  const { storeId } = stage;
  const kills = watchKills({ ...stages, storeId }, killedAt, async () => stage.kill?.());
  try {
    const first = await stage.purchase();
    let second: StageResult | null = null;
    if (first.end === "failure") {
      await kills.end();
      await removeFaults(stages, added);
      second = await stage.purchase();
    }
    const made = await checkoutsOf(stages);
    const bought = { purchase: nameOrder(first, made), again: second && nameOrder(second, made) };
    if (stage.view === undefined) return await unpaidRun(stages, { schedule, ...bought, checkouts: made });
    const lookNow = (): Promise<Look> => look(stage, made[0]);
    await advance(stages, FIRST_ATTEMPTS_MS);
    await comeBack(stage, made[0]);
    const before = await lookNow();
    const ids = new Set([bought.again, bought.purchase].map((end) => (end?.end === "order" ? end.id : "")));
    // Without the address of the payment page, nobody can pay.
    const payable = made.find(({ id, status }) => ids.has(id) && !isFinal(status));
    if (payable !== undefined) await actFor(stages, payable.id, schedule.payer);
    // The customer returns while the webhooks are delivered, twice.
    const back = Promise.all([comeBack(stage, made[0]), comeBack(stage, made[0])]);
    await advance(stages, FIRST_ATTEMPTS_MS);
    await back;
    const soon = await lookNow();
    const known = {
      schedule,
      ...bought,
      before: before.seen,
      soon: soon.seen,
      ...(await driveToEnd(stages)),
      requests: await requestsOf(stages),
      isDown: stage.isDown?.() === true,
    };
    await kills.end();
    const judged = await poll(world, async () => judgedBy(stage, known, await lookNow()), {
      isEnough: ({ viewError, judgement }) => viewError === undefined && !canImprove(judgement),
      waitMs: VIEW_PATIENCE_MS,
      firstPauseMs: VIEW_PAUSE_MS,
      signal,
    });
    return { ...judged, story: await storyOf(stages, judged) };
  } finally {
    await kills.end();
  }
}

/** The customer returns; a page that fails proves nothing, and what it did is seen in the view. */
async function comeBack({ returns }: Stage, checkout: RunCheckout | undefined): Promise<void> {
  if (checkout === undefined) return;
  await returns?.(checkout).catch(() => undefined);
}

/** The run of an application without bookings: only its orders are judged. */
async function unpaidRun(
  stages: Play,
  known: Pick<RunFacts, "schedule" | "purchase" | "again" | "checkouts">,
): Promise<ExploreRun> {
  const unseen = { deliveries: [], before: null, soon: null, isDown: false };
  const facts = { ...known, ...unseen, requests: await requestsOf(stages) };
  const judged = judgedBy(stages.stage, facts, { seen: null, error: undefined });
  return { ...judged, story: await storyOf(stages, judged) };
}

function judgedBy(
  { secretPlaces }: Stage,
  known: Omit<RunFacts, "last" | "secretPlaces">,
  { seen: last, error: viewError }: Look,
) {
  const facts = { ...known, last, secretPlaces };
  return { facts, judgement: judgeRun(facts), viewError };
}

/** A reading of the view: its answer, or its error. */
type Look = { readonly seen: ShownOrder | null; readonly error: unknown };

async function look({ view }: Stage, checkout: RunCheckout | undefined): Promise<Look> {
  if (checkout === undefined || view === undefined) return { seen: null, error: undefined };
  try {
    return { seen: await view(checkout), error: undefined };
  } catch (error) {
    return { seen: null, error };
  }
}

/** A fault of a schedule that was added to the sandbox. */
type AddedFault = { readonly id: string; readonly action: ScheduledFault["action"] };

/** Adds the faults of requests and deliveries. A kill at a request becomes a fault that delays the answer. */
async function addFaults({ call, stage }: Play, { faults }: Schedule): Promise<readonly AddedFault[]> {
  const { storeId, within } = stage;
  const added: AddedFault[] = [];
  for (const fault of faults) {
    const { action } = fault;
    if (isKill(action) && targetsDelivery(fault)) continue;
    const ofRun = within && { orderId: within.orderId };
    const ofDelivery = within && !isAtRequest(action) && { endpointId: within.endpointId };
    const body = faultBody(fault, { ...ofRun, ...ofDelivery });
    const { id } = (await call({ name: "addFault", storeId, body })).fault;
    added.push({ id, action });
  }
  return added;
}

/** Whether a fault applies to a delivery. */
export function targetsDelivery({ match = {} }: ScheduledFault): boolean {
  return match.eventType !== undefined;
}

/** Removes the request faults that were not applied. */
async function removeFaults({ call, stage: { storeId } }: Play, added: readonly AddedFault[]): Promise<void> {
  const ids = new Set(added.flatMap(({ id, action }) => (isAtRequest(action) ? [id] : [])));
  for (const id of await leftFaults({ call, storeId }, ids))
    // The fault may have been applied, and so removed, between the two calls.
    await call({ name: "removeFault", storeId, id, body: undefined }).catch(() => undefined);
}

function isAtRequest(action: ScheduledFault["action"]): boolean {
  return isKill(action) || isApiAction(action);
}

/** The result of a purchase. If it does not name its order, it is assumed to be the first order. */
function nameOrder(end: StageResult, [first]: readonly RunCheckout[]): PurchaseResult {
  if (end.end !== "unnamed") return end;
  return { end: "order", id: first?.id ?? "", checkoutUrl: first?.checkoutUrl ?? "" };
}

/** The checkouts of the run, oldest first. */
async function checkoutsOf({ call, stage: { storeId, within } }: Play): Promise<readonly RunCheckout[]> {
  const listed = await call({ name: "listCheckouts", storeId, body: { limit: MAX_CHECKOUTS } });
  const isOwn = ({ id, orderId }: { readonly id: string; readonly orderId: string }): boolean =>
    within === undefined || (orderId === within.orderId && !within.before.has(id));
  const made = listed.checkouts.filter(isOwn).toReversed();
  const shown = await Promise.all(
    made.map(({ id }) => call({ name: "inspectCheckout", storeId, id, body: undefined })),
  );
  return shown.map(({ id, orderId, amountMinor, status, checkoutUrl }) => ({
    id,
    orderId,
    amountMinor,
    status,
    checkoutUrl,
  }));
}

async function requestsOf({ call, stage }: Play): Promise<RunFacts["requests"]> {
  const { storeId, within, secretPlaces } = stage;
  const body = { limit: MAX_LISTED, ...(within && { orderId: within.orderId }) };
  const listed = await call({ name: "listRequests", storeId, body });
  if (listed.requests.some(isRequestWithSecret)) secretPlaces.add("request");
  return observedRequests(listed.requests);
}

async function deliveriesOf({ call, stage }: Play): Promise<RunFacts["deliveries"]> {
  const { storeId, within, secretPlaces } = stage;
  const ofRun = within && { orderId: within.orderId, endpointId: within.endpointId };
  const found = await call({ name: "listDeliveries", storeId, body: { limit: MAX_LISTED, ...ofRun } });
  if (found.deliveries.some(isAnsweredWithSecret)) secretPlaces.add("answer");
  return found.deliveries
    .map(({ type: eventType, cause, state, attempts }) => ({
      eventType,
      cause,
      state,
      attempts: attempts.map(({ status, fault }) => ({ status, fault })),
    }))
    .toReversed();
}

async function advance({ call, stage: { storeId } }: Play, byMs: number): Promise<void> {
  await call({ name: "moveClock", storeId, body: { action: "advance", byMs } });
}

/** The actions of a payer, in order. A success after the order has ended is a late success. */
const PAYER_ACTIONS = {
  succeeded: ["succeeded"],
  declined: ["declined"],
  paid_after_decline: ["declined", "succeeded"],
  failed: ["failed"],
  cancelled: ["cancelled"],
  expired: ["expired"],
  late_success: ["pending", "expired", "succeeded"],
} as const satisfies Readonly<Record<PayerOutcome, readonly SimulatedOutcome[]>>;

async function actFor(stages: Play, id: string, payer: PayerOutcome): Promise<void> {
  const { call, stage } = stages;
  const [first, ...others] = PAYER_ACTIONS[payer];
  await call({ name: "pay", storeId: stage.storeId, id, body: { outcome: first } });
  for (const outcome of others) {
    if (payer === "paid_after_decline") await advance(stages, FIRST_ATTEMPTS_MS);
    await call({ name: "pay", storeId: stage.storeId, id, body: { outcome } });
  }
}

/** Moves the clock until nothing is due; returns the final checkouts and deliveries. */
async function driveToEnd(stages: Play): Promise<Pick<RunFacts, "checkouts" | "deliveries">> {
  for (let spans = 1; ; spans += 1) {
    await advance(stages, TO_THE_END_MS);
    const [checkouts, deliveries] = [await checkoutsOf(stages), await deliveriesOf(stages)];
    const isOver =
      checkouts.every(({ status }) => isFinal(status)) && deliveries.every(({ state }) => state !== "due");
    if (isOver || spans === MAX_SPANS) return { checkouts, deliveries };
  }
}

/**
 * The timeline of the order, or the requests if there is no order, and the result of each purchase; empty if no
 * invariant was broken.
 */
async function storyOf(
  { call, stage: { storeId } }: Play,
  { facts, judgement }: Pick<ExploreRun, "facts" | "judgement">,
): Promise<string> {
  if (brokenVerdicts(judgement).length === 0) return "";
  const { purchase, again } = facts;
  const checkout = checkoutOfRun(facts);
  const lines =
    checkout === undefined
      ? requestLines(facts)
      : linesOf(await call({ name: "explain", storeId, body: { id: checkout.orderId } }));
  const ends = [purchase, again].flatMap((end) =>
    end === null ? [] : [end.end === "failure" ? `the purchase failed: ${end.message}` : END_TEXTS[end.end]],
  );
  return [...lines, ...ends].join("\n");
}

const END_TEXTS = {
  order: "the purchase reported its order",
  timeout: "the purchase did not end within its timeout",
} as const;

function linesOf({ summary, entries }: AnswerOf<"explain">): readonly string[] {
  return [printable(summary), ...entries.map(entryLine)];
}
