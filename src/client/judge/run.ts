// Runs the histories of a shop after the plain purchase, in the order of `HISTORY_NAMES`: in parallel or, if they need
// the whole shop, alone.
import type { CheckoutObject } from "../../core/checkout/checkout.ts";
import { entryLine } from "../../core/explain/span.ts";
import {
  HISTORIES,
  HISTORY_NAMES,
  PLAIN_PURCHASE,
  type HistoryName,
} from "../../core/judge/histories/histories.ts";
import {
  isBusyAnswer,
  isLate,
  judgeHistory,
  noVerdict,
  type HistoryVerdict,
} from "../../core/judge/judge.ts";
import type { Observation } from "../../core/judge/observation.ts";
import type { StepText } from "../../core/readiness/drill-shapes.ts";
import { factOf } from "../../core/readiness/drills/said.ts";
import type { History } from "../../core/judge/step.ts";
import { dialectFacts, NoOrder, type Bench, type Purchase } from "./bench.ts";
import { createTurnQueue } from "../../core/mutex.ts";
import { mapInLanes } from "../lanes.ts";
import type { PlainPurchase } from "./plain.ts";
import { ordersOf, playHistory } from "./play.ts";

export type JudgedHistory = {
  readonly name: HistoryName | typeof PLAIN_PURCHASE;
  readonly verdict: HistoryVerdict;
  /** The id of the checkout that the verdict is about; null if there is none. */
  readonly reference: string | null;
  /** The timeline of that checkout's order, for a broken history. */
  readonly story: readonly string[];
  /** The facts and orders of the played history, and its time by the monotonic clock, for a later reading. */
  readonly evidence?: {
    readonly facts: readonly Observation[];
    readonly orders: readonly Purchase[];
    readonly at: number;
  };
};

export type RunPlan = {
  readonly parts: ReadonlySet<History["part"]>;
  readonly names: ReadonlySet<string> | undefined;
  /** Whether long histories are skipped. */
  readonly isQuick: boolean;
  /** The time after which no new history starts, by the monotonic clock. */
  readonly deadline: number;
  /** Maximum number of parallel histories. Default: depends on the shop's speed. */
  readonly maxHistories?: number;
  readonly onJudged: (history: JudgedHistory) => void;
};

/** Maximum number of parallel histories. They mostly wait, and longer for a slow shop, which therefore gets more. */
const MAX_PARALLEL = 6;
const MAX_PARALLEL_IF_SLOW = 10;
const SLOW_MS = 800;
/** Maximum number of further runs of a history whose broken rule may be chance; one of them must break a rule too. */
const MAX_CONFIRMING_RUNS = 2;

/** Runs all histories of the plan that the shop allows, under a lease. */
export async function runHistories(bench: Bench, plan: RunPlan): Promise<readonly JudgedHistory[]> {
  const { signal, recording } = bench;
  const histories: JudgedHistory[] = [];
  const unsureTurns: (readonly [turn: Turn, first: PlayResult])[] = [];
  const failureController = new AbortController();
  const othersDone = Promise.withResolvers<void>();
  const ownBench = {
    ...bench,
    othersDone: othersDone.promise,
    signal: AbortSignal.any([signal, failureController.signal]),
  };
  const skipReason = (): SkipReason | undefined =>
    histories.some(leftShopStuck) ? "stuck" : findEndReason(bench, plan);
  const report = (item: JudgedHistory): void => {
    histories.push(item);
    if (!isLeftOut(item)) plan.onJudged(item);
  };
  const runUnlessFailed = async (work: () => Promise<void>): Promise<void> => {
    if (failureController.signal.aborted) return;
    try {
      await work();
    } catch (error) {
      // After an error, such as the end of the lease, nothing more may be done to the shop.
      failureController.abort(error);
      othersDone.resolve();
    }
  };
  const run = (turn: Turn, benchChanges: Partial<Bench> = {}): Promise<void> =>
    runUnlessFailed(async () => {
      const reason = skipReason();
      if (reason !== undefined) return report(unplayedHistory(turn.name, factOf(reason)));
      const playedTurn = await raceWithAbort(signal, playOnce({ ...ownBench, ...benchChanges }, turn));
      if (playedTurn === undefined) report(unplayedHistory(turn.name, factOf("interrupted")));
      else if (histories.some(leftShopStuck)) report(unplayedHistory(turn.name, factOf("stuck")));
      else if (mayBeFlaky(playedTurn)) unsureTurns.push([turn, playedTurn]);
      else report(await judgedHistory(bench, turn, playedTurn));
    });
  const { maxHistories = recording.bookingMs > SLOW_MS ? MAX_PARALLEL_IF_SLOW : MAX_PARALLEL } = plan;
  const runInTurn = createTurnQueue();
  const batches = batchesOf(bench.shop, plan);
  const lastingTurns = batches.flatMap(([pace, turns]) => (pace === "lasting" ? turns : []));
  let lastingRuns: Promise<unknown> | undefined;
  for (const [pace, turns] of batches) {
    if (pace === "beside") lastingRuns ??= Promise.all(lastingTurns.map((turn) => run(turn)));
    if (pace === "lasting") {
      othersDone.resolve();
      await (lastingRuns ?? Promise.all(lastingTurns.map((turn) => run(turn))));
    } else if (pace === "beside") await mapInLanes(turns, maxHistories, (turn) => run(turn));
    else await mapInLanes(turns, maxHistories, (turn) => runInTurn((stepAside) => run(turn, { stepAside })));
    for (const [turn, history] of unsureTurns.splice(0))
      await runUnlessFailed(async () => report(await confirm(bench, turn, history, skipReason)));
    if (failureController.signal.aborted) await lastingRuns;
    failureController.signal.throwIfAborted();
  }
  return histories;
}

type SkipReason = "budget" | "stuck" | "interrupted";

/** Why no new history may start; undefined if one may. */
export function findEndReason(
  { world, signal }: Pick<Bench, "world" | "signal">,
  { deadline }: Pick<RunPlan, "deadline">,
): Exclude<SkipReason, "stuck"> | undefined {
  if (signal.aborted) return "interrupted";
  return world.monotonic() >= deadline ? "budget" : undefined;
}

/** The result of work; undefined if the run was interrupted meanwhile, because the result then proves nothing. */
export async function raceWithAbort<Value>(
  signal: AbortSignal,
  work: Promise<Value>,
): Promise<Value | undefined> {
  const value = await work.catch((error: unknown) => {
    if (!signal.aborted) throw error;
    return undefined;
  });
  return signal.aborted ? undefined : value;
}

/** Whether a history was skipped because the budget was spent, the run was interrupted, or the shop was stuck. */
export function isLeftOut({ verdict }: Pick<JudgedHistory, "verdict">): boolean {
  return (
    verdict.state === "not_judged" &&
    typeof verdict.reason !== "string" &&
    SKIP_REASONS.has(verdict.reason.fact)
  );
}

const SKIP_REASONS: ReadonlySet<string> = new Set<SkipReason>(["budget", "stuck", "interrupted"]);

/** Whether the shop accepts no more events, so that no other history can show anything. */
export function leftShopStuck({ verdict }: Pick<JudgedHistory, "verdict">): boolean {
  return verdict.state === "broken" && verdict.cause === "refuses_since_restart";
}

/** How a history runs: alone, beside others, or lasting: started with the first batch beside others, and awaited later. */
type Pace = "alone" | "beside" | "lasting";

/** The histories that can run, in order; consecutive histories with the same pace form a batch. */
function batchesOf(shop: Bench["shop"], plan: RunPlan): readonly (readonly [Pace, readonly Turn[]])[] {
  const batches: [Pace, Turn[]][] = [];
  for (const name of HISTORY_NAMES) {
    const history = HISTORIES[name];
    if (!isPlanned(name, plan) || !canRun(history, shop)) continue;
    const isLasting = history.steps.some(({ act }) => act === "wait_for_others");
    const pace = isLasting ? "lasting" : history.isAlone === true ? "alone" : "beside";
    const turns = (shop.kinds ?? (["order"] as const)).map((kind) => ({ name, kind }));
    const lastBatch = batches.at(-1);
    if (lastBatch?.[0] === pace) lastBatch[1].push(...turns);
    else batches.push([pace, turns]);
  }
  return batches;
}

/** A history to play, and the kind of its checkouts. */
type Turn = { readonly name: HistoryName; readonly kind: CheckoutObject };

function isPlanned(name: HistoryName, { parts, names, isQuick }: RunPlan): boolean {
  const { part, isLong = false } = HISTORIES[name];
  return names === undefined ? parts.has(part) && !(isQuick && isLong) : names.has(name);
}

function canRun({ needs = [], steps }: History, shop: Bench["shop"]): boolean {
  const isSeen = shop.view !== undefined || steps.every(({ act }) => act !== "look");
  return isSeen && needs.every((need) => shop[need] !== undefined);
}

/** Whether a busy machine or another history may have caused the verdict; the history is then played again, alone. */
function mayBeFlaky({ verdict, facts }: PlayResult): boolean {
  if (isLate(verdict)) return true;
  if (verdict.state !== "broken" || leftShopStuck({ verdict })) return false;
  if (verdict.invariant === "stays_up") return true;
  if (verdict.invariant === "client_ends")
    return facts.every((fact) => runsOf(fact).every(({ hasEnded }) => hasEnded));
  return (
    verdict.invariant === "takes_events" &&
    facts.every((fact) => fact.kind !== "refused" || isBusyAnswer(fact.got))
  );
}

function runsOf(fact: Observation): readonly { readonly hasEnded: boolean }[] {
  if (fact.kind === "create") return fact.runs;
  return fact.kind === "client" ? fact.purchase.runs : [];
}

export function unplayedHistory(name: HistoryName, reason: StepText, got: StepText = ""): JudgedHistory {
  return { name, verdict: noVerdict(reason, null, got), reference: null, story: [] };
}

async function judgedHistory(bench: Bench, turn: Turn, playedTurn: PlayResult): Promise<JudgedHistory> {
  const { name } = turn;
  if (bench.signal.aborted) return unplayedHistory(name, factOf("interrupted"));
  const { verdict, orders } = playedTurn;
  const checkouts = orders[0]?.checkouts ?? [];
  const isBroken = verdict.state === "broken";
  const subject = isBroken ? checkouts.at(-1) : checkouts[0];
  const story = isBroken && subject !== undefined ? await storyOf(bench, subject.orderId, orders) : [];
  return { name, verdict, reference: subject?.id ?? null, story, evidence: playedTurn };
}

/**
 * Plays a history again, alone, whose verdict may be chance. A late history gets its new verdict, and a history with
 * refused events passes if it holds now; any other broken history is not judged unless a rule is broken again.
 */
async function confirm(
  bench: Bench,
  turn: Turn,
  playedTurn: PlayResult,
  skipReason: () => SkipReason | undefined,
): Promise<JudgedHistory> {
  const firstVerdict = playedTurn.verdict;
  for (let run = 0; run < MAX_CONFIRMING_RUNS && skipReason() === undefined; run += 1) {
    const rerun = await raceWithAbort(bench.signal, playOnce(bench, turn));
    if (rerun === undefined) break;
    const hasPassed =
      firstVerdict.state === "broken" &&
      firstVerdict.invariant === "takes_events" &&
      rerun.verdict.state === "held";
    if (isLate(firstVerdict) || hasPassed || rerun.verdict.state === "broken")
      return judgedHistory(bench, turn, rerun);
  }
  if (isLate(firstVerdict)) return judgedHistory(bench, turn, playedTurn);
  return unplayedHistory(turn.name, factOf(skipReason() ?? "not_again"), firstVerdict.got);
}

/** Plays and judges a history. A served shop that ended meanwhile is restarted. */
async function playOnce(bench: Bench, { name, kind }: Turn): Promise<PlayResult> {
  const { world, shop } = bench;
  const history = HISTORIES[name];
  const orders = ordersOf(bench, history, kind);
  const facts: Observation[] = [...dialectFacts(bench, false)];
  const endingCount = shop.server?.endings.length ?? 0;
  let problem: NoOrder["reason"] | undefined;
  try {
    await playHistory(bench, history, { orders, facts, isReadAgain: true });
  } catch (error) {
    if (!(error instanceof NoOrder)) throw error;
    problem = error.reason;
  }
  const serverEnding = shop.server?.endings.slice(endingCount)[0];
  if (serverEnding !== undefined) {
    // This becomes the first fact, because the end of the shop explains later losses.
    facts.unshift({ kind: "end", got: serverEnding });
    await bench.runExclusive(async () => shop.server?.restartIfEnded());
  }
  const verdict = judgeHistory(history, facts, shop.settleMs);
  const at = world.monotonic();
  if (problem === undefined || verdict.state === "broken") return { orders, facts, at, verdict };
  return { orders, facts: [], at, verdict: noVerdict(factOf("unpayable", problem), "create", problem) };
}

type PlayResult = NonNullable<JudgedHistory["evidence"]> & { readonly verdict: HistoryVerdict };

const MAX_STORY_LINES = 16;

/** The last lines of an order's timeline, with the run's own deliveries. */
export async function storyOf(
  { call, world }: Pick<Bench, "call" | "world">,
  orderId: string,
  orders: readonly Purchase[],
): Promise<readonly string[]> {
  const { entries } = await call({ name: "explain", body: { id: orderId } });
  const { now } = await call({ name: "showClock", body: undefined });
  const clockOffset = now - world.monotonic();
  const eventLines = orders.flatMap(({ name, ownDeliveries }) =>
    ownDeliveries.map(({ at, text }) => ({
      at: at + clockOffset,
      of: null,
      text: name === "a" ? text : `${text} (order ${name})`,
    })),
  );
  const lines = [...entries, ...eventLines].toSorted((left, right) => left.at - right.at);
  return lines.slice(-MAX_STORY_LINES).map(entryLine);
}

/** The plain purchase as a judged history. `plainPurchase`: undefined if it was interrupted. */
export async function plainHistory(
  bench: Bench,
  plainPurchase: PlainPurchase | undefined,
): Promise<JudgedHistory> {
  const verdict = plainPurchase?.verdict ?? noVerdict(factOf("interrupted"), null);
  const checkout = plainPurchase?.purchase.checkouts.at(-1);
  const isBroken = plainPurchase?.verdict.state === "broken" && checkout !== undefined;
  const story = isBroken ? await storyOf(bench, checkout.orderId, [plainPurchase.purchase]) : [];
  return { name: PLAIN_PURCHASE, verdict, reference: checkout?.id ?? null, story };
}
