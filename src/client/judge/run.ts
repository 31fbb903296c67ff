// Runs the histories of a shop: first the plain purchase, which measures how long a payment takes, then the restarts,
// then the others, in parallel or, if they need the whole shop, alone.
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
  judgeLaterLooks,
  mayBeLate,
  noVerdict,
  verdictsOn,
  type HistoryVerdict,
} from "../../core/judge/judge.ts";
import { type Observation } from "../../core/judge/observation.ts";
import type { Cause } from "../../core/readiness/drills/judge-causes.ts";
import type { JudgedInvariant } from "../../core/readiness/drills/judged-invariants.ts";
import type { StepText } from "../../core/readiness/drill-shapes.ts";
import { factOf } from "../../core/readiness/drills/said.ts";
import type { History, Need, OrderName } from "../../core/judge/step.ts";
import { dialectFacts, lastCheckout, NoOrder, type Bench, type Purchase, type Purchases } from "./bench.ts";
import { createTurnQueue } from "../../core/mutex.ts";
import { mapInLanes } from "../lanes.ts";
import type { PlainPurchase } from "./plain.ts";
import { lookAgain, bookingTimeoutMs, quietMs } from "./looks.ts";
import { playHistory } from "./play.ts";

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
    readonly orders: Purchases;
    readonly at: number;
  };
};

type RunPlan = {
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

/** Maximum number of parallel histories. They mostly wait, and longer for a slow shop, so such a shop gets more of them. */
const MAX_PARALLEL = 6;
const MAX_PARALLEL_IF_SLOW = 10;
const SLOW_MS = 800;
const MAX_PARALLEL_REPLAYS = 2;
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
      if (reason !== undefined) return report(unplayedHistory(turn, factOf(reason)));
      const playedTurn = await raceWithAbort(signal, playOnce({ ...ownBench, ...benchChanges }, turn));
      if (playedTurn === undefined) report(unplayedHistory(turn, factOf("interrupted")));
      else if (histories.some(leftShopStuck)) report(unplayedHistory(turn, factOf("stuck")));
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
    const turns = (shop.kinds ?? (["order"] as const)).map((kind): Turn => [name, kind]);
    const lastBatch = batches.at(-1);
    if (lastBatch?.[0] === pace) lastBatch[1].push(...turns);
    else batches.push([pace, turns]);
  }
  return batches;
}

/** If a broken rule has this many different likely causes, none of them explains all breaks. */
const MANY_CAUSES = 4;

/** If a broken rule has many likely causes, they are dropped, and only a cause that an answer proves is reported. */
function dropLikelyCauses(histories: readonly JudgedHistory[]): readonly JudgedHistory[] {
  const likelyCauses = new Map<JudgedInvariant, Set<Cause>>();
  for (const { name, verdict } of histories) {
    if (verdict.state !== "broken") continue;
    const { invariant } = verdict;
    const cause = likelyCause(name, invariant);
    if (cause !== undefined)
      likelyCauses.set(invariant, (likelyCauses.get(invariant) ?? new Set()).add(cause));
  }
  return histories.map((item) => {
    const { verdict, evidence } = item;
    if (verdict.state !== "broken" || (likelyCauses.get(verdict.invariant)?.size ?? 0) < MANY_CAUSES)
      return item;
    const brokenFact = verdictsOn(evidence?.facts ?? []).brokenRules.find(
      ({ invariant }) => invariant === verdict.invariant,
    );
    return { ...item, verdict: { ...verdict, cause: brokenFact?.cause ?? null } };
  });
}

function likelyCause(name: string, invariant: JudgedInvariant): Cause | undefined {
  const { causes }: Pick<History, "causes"> = isHistory(name) ? HISTORIES[name] : {};
  return causes?.[invariant];
}

/** Each history once, in order; of several runs of a history, the run with the worst verdict. */
export function mergeRuns(histories: readonly JudgedHistory[]): readonly JudgedHistory[] {
  const names = [PLAIN_PURCHASE, ...HISTORY_NAMES];
  const mergedHistories = names.flatMap((name) => {
    const sameNamed = histories.filter((item) => item.name === name);
    const sortedHistories = ["broken", "not_judged", "held"].flatMap((state) =>
      sameNamed.filter(({ verdict }) => verdict.state === state),
    );
    return sortedHistories.slice(0, 1);
  });
  return dropLikelyCauses(mergedHistories);
}

type Turn = readonly [name: HistoryName, kind: CheckoutObject];

/** A payment that is not shown after this time, in milliseconds, is lost. */
const LOSS_TIMEOUT_MS = 20_000;

/**
 * Judges the histories again once each payment that was not shown has had its time, and not before `notBefore`
 * (monotonic clock), because a shop may book late, or a second time.
 */
export async function judgeAgain(
  bench: Bench,
  histories: readonly JudgedHistory[],
  notBefore: number,
): Promise<readonly JudgedHistory[]> {
  const { world, shop, signal } = bench;
  if (shop.view === undefined) return histories;
  const lateHistories = histories.filter(
    ({ verdict, evidence }) => evidence !== undefined && mayBeLate(verdict),
  );
  const rereadAt = Math.max(
    notBefore,
    ...histories.map(({ evidence }) => (evidence?.at ?? 0) + quietMs(bench)),
    ...lateHistories.map(({ evidence }) => (evidence?.at ?? 0) + LOSS_TIMEOUT_MS - bookingTimeoutMs(bench)),
  );
  const leftMs = rereadAt - world.monotonic();
  if (leftMs > 0) await world.sleep(leftMs, signal);
  return Promise.all(
    histories.map(async (item) => {
      const { name, evidence, verdict } = item;
      if (evidence === undefined || !isHistory(name)) return item;
      const fallback = mayBeLate(verdict)
        ? unplayedHistory([name], factOf("interrupted"), verdict.got)
        : item;
      if (signal.aborted) return fallback;
      // An order that only another system has created is not judged.
      const knownOrders = [...evidence.orders].filter(([, { checkouts, foreignIds }]) =>
        checkouts.some(({ id }) => !foreignIds.has(id)),
      );
      const looks = await Promise.all(knownOrders.map(([of, purchase]) => lookAgain(bench, of, purchase)));
      // An interrupted reading proves nothing.
      if (signal.aborted) return fallback;
      const elapsedMs = bookingTimeoutMs(bench) + world.monotonic() - evidence.at;
      const laterLooks = { looks, settleMs: shop.settleMs, elapsedMs };
      return {
        ...item,
        evidence: { ...evidence, facts: [...evidence.facts, ...looks] },
        verdict: judgeLaterLooks(HISTORIES[name], { verdict, ...evidence }, laterLooks),
      };
    }),
  );
}

/**
 * The names of the histories to play again: the late ones, whose payments may have been late only because the shop had
 * many events to process, and then also those that were left out. Empty if none is late or no history may start.
 */
export function namesToReplay(
  bench: Bench,
  histories: readonly JudgedHistory[],
  plan: Pick<RunPlan, "deadline">,
): ReadonlySet<string> {
  // A shop that takes no more events can show nothing.
  const mayReplay = !histories.some(leftShopStuck) && findEndReason(bench, plan) === undefined;
  const isOpen = (item: JudgedHistory): boolean => isLate(item.verdict) || isLeftOut(item);
  if (!mayReplay || !histories.some(({ verdict }) => isLate(verdict))) return new Set();
  return new Set(histories.filter(isOpen).map(({ name }) => name));
}

/** Plays histories again, fewer at a time, and returns all histories with the new verdicts. */
export async function replay(
  bench: Bench,
  histories: readonly JudgedHistory[],
  plan: RunPlan & { readonly names: ReadonlySet<string> },
): Promise<readonly JudgedHistory[]> {
  if (plan.names.size === 0) return histories;
  const playedHistories = await runHistories(bench, { ...plan, maxHistories: MAX_PARALLEL_REPLAYS });
  return withReplays(histories, await judgeAgain(bench, playedHistories, 0));
}

/**
 * Histories with their replays in place of the verdicts that these disprove. A history has an entry for each kind of
 * checkout: what one kind broke stays broken, and all entries stay if the replay of one kind shows nothing.
 */
export function withReplays(
  histories: readonly JudgedHistory[],
  replays: readonly JudgedHistory[],
): readonly JudgedHistory[] {
  const showsNothing = ({ verdict }: JudgedHistory): boolean =>
    verdict.state === "not_judged" && !isLate(verdict);
  const unshownNames = new Set(replays.filter(showsNothing).map(({ name }) => name));
  const replayedNames = new Set(replays.map(({ name }) => name));
  const isDisproved = ({ name, verdict }: JudgedHistory): boolean =>
    replayedNames.has(name) && !unshownNames.has(name) && verdict.state !== "broken";
  return [
    ...histories.filter((item) => !isDisproved(item)),
    ...replays.filter((item) => !showsNothing(item)),
  ];
}

function isHistory(name: string): name is HistoryName {
  return Object.hasOwn(HISTORIES, name);
}

function isPlanned(name: HistoryName, { parts, names, isQuick }: RunPlan): boolean {
  const { part, isLong = false } = HISTORIES[name];
  return names === undefined ? parts.has(part) && !(isQuick && isLong) : names.has(name);
}

function canRun({ needs: historyNeeds = [], steps }: History, shop: Bench["shop"]): boolean {
  const isSeen = shop.view !== undefined || steps.every(({ act }) => act !== "look");
  return isSeen && historyNeeds.every((need: Need) => shop[need] !== undefined);
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

function unplayedHistory(
  [name]: readonly [name: HistoryName, ...unknown[]],
  reason: StepText,
  gotText: StepText = "",
): JudgedHistory {
  return { name, verdict: noVerdict(reason, null, gotText), reference: null, story: [] };
}

async function judgedHistory(bench: Bench, turn: Turn, playedTurn: PlayResult): Promise<JudgedHistory> {
  if (bench.signal.aborted) return unplayedHistory(turn, factOf("interrupted"));
  const [name] = turn;
  const { verdict, orders } = playedTurn;
  const checkouts = orders.get("a")?.checkouts ?? [];
  const isBroken = verdict.state === "broken";
  const subject = isBroken ? checkouts.at(-1) : checkouts[0];
  const story = isBroken && subject !== undefined ? await storyOf(bench, subject.orderId, orders) : [];
  return { name, verdict, reference: subject?.id ?? null, story, evidence: playedTurn };
}

/** Plays a history again, alone, if its verdict may be chance. A late or busy shop passes if the history then holds. */
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
  return unplayedHistory(turn, factOf(skipReason() ?? "not_again"), firstVerdict.got);
}

/** Plays and judges a history. A served shop that ended meanwhile is restarted. */
async function playOnce(bench: Bench, [name, kind]: Turn): Promise<PlayResult> {
  const { world, shop } = bench;
  const history = HISTORIES[name];
  const orders = new Map<OrderName, Purchase>();
  const facts: Observation[] = [...dialectFacts(bench, false)];
  const endingCount = shop.server?.endings.length ?? 0;
  const problem = await playHistory(bench, history, { orders, kind, facts, isReadAgain: true }).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof NoOrder) return error.reason;
      throw error;
    },
  );
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

/** The timeline of an order with the run's own deliveries: the last 16 lines. */
export async function storyOf(
  { call, world }: Pick<Bench, "call" | "world">,
  orderId: string,
  orders: Purchases,
): Promise<readonly string[]> {
  const { entries } = await call({ name: "explain", body: { id: orderId } });
  const { now } = await call({ name: "showClock", body: undefined });
  const clockOffset = now - world.monotonic();
  const eventLines = [...orders].flatMap(([name, { ownDeliveries }]) =>
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
  const name = PLAIN_PURCHASE;
  if (plainPurchase === undefined)
    return { name, verdict: noVerdict(factOf("interrupted"), null), reference: null, story: [] };
  const { verdict, reference, purchase } = plainPurchase;
  const isBroken = verdict.state === "broken" && reference !== null;
  const story = isBroken
    ? await storyOf(bench, lastCheckout(purchase).orderId, new Map([["a", purchase]]))
    : [];
  return { name, verdict, reference, story };
}
