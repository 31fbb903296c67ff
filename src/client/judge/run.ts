import { entryLine } from "../../core/explain/span.ts";
import { historyOf, PLAIN_PURCHASE } from "../../core/judge/histories/histories.ts";
import {
  isBusyAnswer,
  isLate,
  judgeHistory,
  noVerdict,
  type HistoryVerdict,
} from "../../core/judge/judge.ts";
import type { Observation } from "../../core/judge/observation.ts";
import { factOf } from "../../core/readiness/drills/said.ts";
import { createTurnQueue } from "../../core/mutex.ts";
import { batchesOf } from "./batches.ts";
import { dialectFacts, NoOrder, type Bench, type Purchase } from "./bench.ts";
import type { PlainPurchase } from "./plain.ts";
import { ordersOf, playHistory } from "./play.ts";
import {
  isLeftOut,
  leftShopStuck,
  unplayedHistory,
  type JudgedHistory,
  type PlayResult,
  type RunPlan,
  type SkipReason,
  type Turn,
} from "./played.ts";
import { createLateWait } from "./later.ts";
import { isByRestart, isExplained, isShrinkable, shrink } from "./shrink.ts";

/** High, because histories mostly wait. */
const MAX_PARALLEL = 12;
const FIRST_PARALLEL = 4;
/** If a rule may be broken by chance, one of these further runs must break a rule too. */
const MAX_CONFIRMING_RUNS = 2;

export async function runHistories(bench: Bench, plan: RunPlan): Promise<readonly JudgedHistory[]> {
  const { histories, failure, run, settleUnsure } = createRunner(bench, plan);
  const { runBeside, endLasting } = createLanes(bench, run);
  const turnQueue = createTurnQueue();
  // A history that steps aside ends later than its batch.
  const aloneRuns: Promise<void>[] = [];
  for (const [pace, turns] of [...batchesOf(bench, plan), ["last", []] as const]) {
    if (pace === "last") {
      await Promise.all(aloneRuns.splice(0));
      await endLasting();
    }
    const isParallel = pace === "beside" || pace === "creates";
    if (!isParallel)
      aloneRuns.push(
        ...turns.map((turn) => turnQueue.run(async (stepAside) => void (await run(turn, { stepAside })))),
      );
    await turnQueue.run(async () => {
      if (isParallel) await Promise.all(turns.map(runBeside));
      await settleUnsure();
    });
    if (failure.aborted) await endLasting();
    failure.throwIfAborted();
  }
  return histories;
}

/** Undefined if the history was not played, or not to its end. */
type Run = (turn: Turn, benchChanges?: Partial<Bench>) => Promise<PlayResult | undefined>;

/** `failure` aborts at the first error, such as the end of the lease. */
function createRunner(bench: Bench, plan: RunPlan) {
  const { signal } = bench;
  const histories: JudgedHistory[] = [];
  const toldNames = new Set<string>();
  const unsureTurns: (readonly [turn: Turn, first: PlayResult])[] = [];
  const failureController = new AbortController();
  const ownBench = { ...bench, signal: AbortSignal.any([signal, failureController.signal]) };
  const skipReason = (): SkipReason | undefined =>
    histories.some(leftShopStuck) ? "stuck" : findEndReason(bench, plan);
  const announce = (item: JudgedHistory): void => {
    if (isLeftOut(item) || toldNames.has(item.name)) return;
    toldNames.add(item.name);
    plan.onJudged(item);
  };
  const report = (item: JudgedHistory): void => {
    histories.push(item);
    announce(item);
  };
  const runUnlessFailed = async <Value>(work: () => Promise<Value>): Promise<Value | undefined> => {
    if (failureController.signal.aborted) return undefined;
    try {
      return await work();
    } catch (error) {
      // After an error, nothing more may be done to the shop.
      failureController.abort(error);
      return undefined;
    }
  };
  const isDropped = (turn: Turn, playedTurn: PlayResult): boolean =>
    isExplained(turn.name, histories) || isByRestart(turn, playedTurn, histories);
  const readUntilSure = createLateWait(announce);
  const play = (turn: Turn, playBench = bench): Promise<PlayResult | undefined> =>
    raceWithAbort(
      signal,
      playOnce(playBench, turn).then((playedTurn) => readUntilSure(playBench, turn, playedTurn)),
    );
  const run: Run = (turn, benchChanges = {}) =>
    runUnlessFailed(async () => {
      if (isExplained(turn.name, histories)) return undefined;
      const reason = skipReason();
      const playedTurn =
        reason === undefined ? await play(turn, { ...ownBench, ...benchChanges }) : undefined;
      if (playedTurn === undefined) report(unplayedHistory(turn.name, factOf(reason ?? "interrupted")));
      else if (histories.some(leftShopStuck)) report(unplayedHistory(turn.name, factOf("stuck")));
      else if (isDropped(turn, playedTurn)) return playedTurn;
      else if (mayBeFlaky(playedTurn) || isShrinkable(turn, playedTurn)) unsureTurns.push([turn, playedTurn]);
      else report(await judgedHistory(bench, turn, playedTurn));
      return playedTurn;
    });
  const playUnlessSkipped = (turn: Turn): Promise<PlayResult | undefined> =>
    skipReason() === undefined ? play(turn) : Promise.resolve(undefined);
  const settleUnsure = async (): Promise<void> => {
    for (const [turn, playedTurn] of unsureTurns.splice(0))
      await runUnlessFailed(async () => {
        if (isDropped(turn, playedTurn)) return;
        const surePlay = mayBeFlaky(playedTurn)
          ? await confirm(turn, playedTurn, playUnlessSkipped)
          : playedTurn;
        const { got } = playedTurn.verdict;
        if (surePlay === undefined)
          return report(unplayedHistory(turn.name, factOf(skipReason() ?? "not_again"), got));
        const knownNames = new Set(histories.map(({ name }) => name));
        const smallest = isShrinkable(turn, surePlay)
          ? await shrink([turn, surePlay], { play: playUnlessSkipped, knownNames })
          : ([turn, surePlay] as const);
        report(await judgedHistory(bench, ...smallest));
      });
  };
  return { histories, failure: failureController.signal, run, settleUnsure };
}

/**
 * Runs more and more histories in parallel until the shop falls behind, then half as many. A history that waits for all
 * others frees its lane.
 */
function createLanes({ world }: Bench, run: Run) {
  let laneCount = FIRST_PARALLEL;
  let halvedAt: number | undefined;
  const lanes = createTurnQueue(laneCount);
  const othersDone = Promise.withResolvers<void>();
  const startedRuns: Promise<void>[] = [];
  const adjust = (startedAt: number, { verdict }: PlayResult): void => {
    if (!isLate(verdict) && halvedAt === undefined) laneCount = Math.min(MAX_PARALLEL, laneCount + 1);
    // Histories that began before the last change do not show its effect.
    if (isLate(verdict) && startedAt >= (halvedAt ?? 0)) {
      laneCount = Math.ceil(laneCount / 2);
      halvedAt = world.monotonic();
    }
    lanes.setLimit(laneCount);
  };
  /** Resolves when the history has ended or waits for the others. */
  const runBeside = async (turn: Turn): Promise<void> => {
    const waiting = Promise.withResolvers<void>();
    const ownRun = lanes.run(async (stepAside) => {
      const awaitOthers = (): Promise<void> =>
        stepAside(() => {
          waiting.resolve();
          return othersDone.promise;
        });
      const startedAt = world.monotonic();
      const playedTurn = await run(turn, { awaitOthers });
      if (playedTurn !== undefined) adjust(startedAt, playedTurn);
    });
    startedRuns.push(ownRun);
    await Promise.race([waiting.promise, ownRun]);
  };
  const endLasting = async (): Promise<void> => {
    if (startedRuns.length === 0) return;
    othersDone.resolve();
    await Promise.all(startedRuns.splice(0));
  };
  return { runBeside, endLasting };
}

export function findEndReason(
  { world, signal }: Pick<Bench, "world" | "signal">,
  { deadline }: Pick<RunPlan, "deadline">,
): Exclude<SkipReason, "stuck"> | undefined {
  if (signal.aborted) return "interrupted";
  return world.monotonic() >= deadline ? "budget" : undefined;
}

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

/** Whether a busy machine or another history may have caused the verdict; the history is then played again, alone. */
function mayBeFlaky({ verdict, facts }: PlayResult): boolean {
  if (isLate(verdict)) return true;
  if (verdict.state !== "broken" || leftShopStuck({ verdict })) return false;
  if (verdict.invariant === "stays_up") return true;
  if (hasOtherId(verdict)) return true;
  if (verdict.invariant === "client_ends")
    return facts.every((fact) => runsOf(fact).every(({ hasEnded }) => hasEnded));
  return (
    verdict.invariant === "takes_events" &&
    facts.every((fact) => fact.kind !== "refused" || isBusyAnswer(fact.got))
  );
}

function mayBeDisturbed(verdict: HistoryVerdict): boolean {
  return verdict.state === "broken" && (verdict.invariant === "takes_events" || hasOtherId(verdict));
}

/** Another history, at the same time, may have created the checkout with an unexpected order_id. */
function hasOtherId({ got }: HistoryVerdict): boolean {
  return typeof got !== "string" && got.fact === "other_id";
}

function runsOf(fact: Observation): readonly { readonly hasEnded: boolean }[] {
  if (fact.kind === "create") return fact.runs;
  return fact.kind === "client" ? fact.purchase.runs : [];
}

async function judgedHistory(bench: Bench, turn: Turn, playedTurn: PlayResult): Promise<JudgedHistory> {
  const { name } = turn;
  const { verdict, orders } = playedTurn;
  const checkouts = orders[0]?.checkouts ?? [];
  const isBroken = verdict.state === "broken";
  const subject = isBroken ? checkouts.at(-1) : checkouts[0];
  const hasStory = isBroken && subject !== undefined && !bench.signal.aborted;
  const story = hasStory ? await storyOf(bench, subject.orderId, orders) : [];
  return { name, verdict, reference: subject?.id ?? null, story, evidence: playedTurn };
}

/**
 * Returns the new result of a late history. A history that another one may have disturbed passes if it holds now. Any
 * other broken history must break a rule again, or is not judged (undefined).
 */
async function confirm(
  turn: Turn,
  playedTurn: PlayResult,
  play: (turn: Turn) => Promise<PlayResult | undefined>,
): Promise<PlayResult | undefined> {
  const firstVerdict = playedTurn.verdict;
  for (let run = 0; run < MAX_CONFIRMING_RUNS; run += 1) {
    const rerun = await play(turn);
    if (rerun === undefined) break;
    const hasPassed = mayBeDisturbed(firstVerdict) && rerun.verdict.state === "held";
    if (isLate(firstVerdict) || hasPassed || rerun.verdict.state === "broken") return rerun;
  }
  return isLate(firstVerdict) ? playedTurn : undefined;
}

async function playOnce(bench: Bench, { name, kind }: Turn): Promise<PlayResult> {
  const { world, shop } = bench;
  const history = historyOf(name);
  const orders = await ordersOf(bench, history, kind);
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

const MAX_STORY_LINES = 16;

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
