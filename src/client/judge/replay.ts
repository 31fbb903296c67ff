import { HISTORY_NAMES, historyOf, PLAIN_PURCHASE } from "../../core/judge/histories/histories.ts";
import { isLate, judgeLaterLooks, mayBeLate, verdictsOn } from "../../core/judge/judge.ts";
import type { Cause } from "../../core/readiness/drills/judge-causes.ts";
import type { JudgedInvariant } from "../../core/readiness/drills/judged-invariants.ts";
import { factOf } from "../../core/readiness/drills/said.ts";
import { ownCheckouts, type Bench } from "./bench.ts";
import { bookingTimeoutMs, lookAgain, quietMs } from "./looks.ts";
import { batchesOf } from "./batches.ts";
import { findEndReason, runHistories } from "./run.ts";
import { isLeftOut, leftShopStuck, unplayedHistory, type JudgedHistory, type RunPlan } from "./played.ts";
import { isExplained, mayBeByRestart } from "./shrink.ts";

/** A payment that is not shown after this time, in milliseconds, is lost. */
const LOSS_TIMEOUT_MS = 20_000;

/**
 * Each payment that was not shown gets its time, and nothing is judged before `notBefore` (monotonic clock),
 * because a shop may book late, or a second time.
 */
export async function judgeAgain(
  bench: Bench,
  histories: readonly JudgedHistory[],
  notBefore: number,
): Promise<readonly JudgedHistory[]> {
  const { world, shop, signal } = bench;
  if (shop.view === undefined) return histories;
  const rereadTimes = histories.flatMap(({ verdict, evidence }) => {
    if (evidence === undefined) return quietMs(bench);
    const lossMs = mayBeLate(verdict) ? LOSS_TIMEOUT_MS - bookingTimeoutMs(bench) : 0;
    return evidence.at + Math.max(quietMs(bench), lossMs);
  });
  const leftMs = Math.max(notBefore, ...rereadTimes) - world.monotonic();
  if (leftMs > 0) await world.sleep(leftMs, signal);
  return Promise.all(
    histories.map(async (item) => {
      const { name, evidence, verdict } = item;
      if (evidence === undefined) return item;
      const fallback = mayBeLate(verdict) ? unplayedHistory(name, factOf("interrupted"), verdict.got) : item;
      if (signal.aborted) return fallback;
      // An order that only another system has created is not judged.
      const ownOrders = evidence.orders.filter((order) => ownCheckouts(order).length > 0);
      const looks = await Promise.all(ownOrders.map((order) => lookAgain(bench, order)));
      // An interrupted reading proves nothing.
      if (signal.aborted) return fallback;
      const elapsedMs = bookingTimeoutMs(bench) + world.monotonic() - evidence.at;
      const laterLooks = { looks, settleMs: shop.settleMs, elapsedMs };
      return {
        ...item,
        evidence: { ...evidence, facts: [...evidence.facts, ...looks] },
        verdict: judgeLaterLooks(historyOf(name), { verdict, facts: evidence.facts }, laterLooks),
      };
    }),
  );
}

/**
 * A history that was dropped because another one seemed to explain it was left out if the other one was only late. Each
 * history has an entry for each kind of checkout.
 */
export function wronglyDropped(
  bench: Bench,
  histories: readonly JudgedHistory[],
  plan: RunPlan,
): readonly JudgedHistory[] {
  const turns = batchesOf(bench.shop, plan).flatMap(([, batchTurns]) => batchTurns);
  const reason = factOf(findEndReason(bench, plan) ?? "budget");
  return [...new Set(turns.map(({ name }) => name))].flatMap((name) => {
    if (isExplained(name, histories) || mayBeByRestart(name, histories)) return [];
    const isSame = (item: { readonly name: string }): boolean => item.name === name;
    return histories.filter(isSame).length < turns.filter(isSame).length ? unplayedHistory(name, reason) : [];
  });
}

/**
 * Late histories come first: their payments may have been late only because the shop had many events to
 * process. Then those that were left out. Empty if none is late or no history may start.
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

export async function replay(
  bench: Bench,
  histories: readonly JudgedHistory[],
  plan: RunPlan & { readonly names: ReadonlySet<string> },
): Promise<readonly JudgedHistory[]> {
  if (plan.names.size === 0) return histories;
  const playedHistories = await runHistories(bench, { ...plan, isReplay: true });
  const allHistories = withReplays(histories, await judgeAgain(bench, playedHistories, 0));
  return allHistories.filter(
    ({ name, verdict }) => verdict.state !== "not_judged" || !isExplained(name, allHistories),
  );
}

/**
 * A history has an entry for each kind of checkout: a broken entry stays, and all entries of a history stay
 * if the replay of one kind is inconclusive.
 */
export function withReplays(
  histories: readonly JudgedHistory[],
  replays: readonly JudgedHistory[],
): readonly JudgedHistory[] {
  const isInconclusive = ({ verdict }: JudgedHistory): boolean =>
    verdict.state === "not_judged" && !isLate(verdict);
  const inconclusiveNames = new Set(replays.filter(isInconclusive).map(({ name }) => name));
  const replayedNames = new Set(replays.map(({ name }) => name));
  const isDisproved = ({ name, verdict }: JudgedHistory): boolean =>
    replayedNames.has(name) && !inconclusiveNames.has(name) && verdict.state !== "broken";
  return [
    ...histories.filter((item) => !isDisproved(item)),
    ...replays.filter((item) => !isInconclusive(item)),
  ];
}

const STATES = ["broken", "not_judged", "held"] as const;

export function mergeRuns(histories: readonly JudgedHistory[]): readonly JudgedHistory[] {
  const rank = ({ verdict }: JudgedHistory): number => STATES.indexOf(verdict.state);
  const worstRuns = Map.groupBy(
    histories.toSorted((left, right) => rank(left) - rank(right)),
    ({ name }) => name,
  );
  const names = new Set([PLAIN_PURCHASE, ...HISTORY_NAMES, ...worstRuns.keys()]);
  return dropLikelyCauses([...names].flatMap((name) => worstRuns.get(name)?.slice(0, 1) ?? []));
}

/** If a broken rule has this many different likely causes, none of them explains all breaks. */
const MANY_CAUSES = 4;

function dropLikelyCauses(histories: readonly JudgedHistory[]): readonly JudgedHistory[] {
  const likelyCausesOf = (invariant: JudgedInvariant): ReadonlySet<Cause> => {
    const brokenHistories = histories.filter(
      ({ verdict }) => verdict.state === "broken" && verdict.invariant === invariant,
    );
    return new Set(brokenHistories.flatMap(({ name }) => likelyCause(name, invariant) ?? []));
  };
  return histories.map((item) => {
    const { verdict, evidence } = item;
    if (verdict.state !== "broken" || likelyCausesOf(verdict.invariant).size < MANY_CAUSES) return item;
    const { brokenRules } = verdictsOn(evidence?.facts ?? []);
    const provenRule = brokenRules.find(({ invariant }) => invariant === verdict.invariant);
    return { ...item, verdict: { ...verdict, cause: provenRule?.cause ?? null } };
  });
}

function likelyCause(name: string, invariant: JudgedInvariant): Cause | undefined {
  return historyOf(name).causes?.[invariant];
}
