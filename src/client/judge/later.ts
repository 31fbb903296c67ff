import { HISTORY_NAMES, historyOf, PLAIN_PURCHASE } from "../../core/judge/histories/histories.ts";
import { judgeLaterLooks, mayBeLate, verdictsOn } from "../../core/judge/judge.ts";
import type { Cause } from "../../core/readiness/drills/judge-causes.ts";
import type { JudgedInvariant } from "../../core/readiness/drills/judged-invariants.ts";
import { createTurnQueue } from "../../core/mutex.ts";
import { poll } from "../poll.ts";
import { ownCheckouts, type Bench } from "./bench.ts";
import { bookingTimeoutMs, lookAgain, quietMs } from "./looks.ts";
import type { JudgedHistory, PlayResult, Turn } from "./played.ts";

/** A payment that is not shown after this time, in milliseconds, is lost. */
const LOSS_TIMEOUT_MS = 20_000;

const REREAD_PAUSE_MS = 500;
const MAX_PARALLEL_READS = 4;

/**
 * Reads the view until it shows the payment (late), or the payment counts as lost. Once a shop has lost a payment, each
 * later payment gets only twice the longest delay so far.
 */
export function createLateWait(announce: (possibleLoss: JudgedHistory) => void) {
  let longestDelayMs = 0;
  let hasLost = false;
  return async (bench: Bench, { name }: Turn, playedTurn: PlayResult): Promise<PlayResult> => {
    const { world, signal } = bench;
    const { verdict, at } = playedTurn;
    if (!mayBeLate(verdict)) return playedTurn;
    if (longestDelayMs === 0) announce({ name, verdict, reference: null, story: [], evidence: playedTurn });
    const waitedMs = bookingTimeoutMs(bench);
    const result = await poll(world, () => readAgain(bench, name, playedTurn), {
      isEnough: (reading) => !mayBeLate(reading.verdict),
      waitMs: (hasLost ? 2 * longestDelayMs : LOSS_TIMEOUT_MS) - waitedMs,
      firstPauseMs: REREAD_PAUSE_MS,
      signal,
    });
    if (mayBeLate(result.verdict)) hasLost = true;
    else longestDelayMs = Math.max(longestDelayMs, waitedMs + world.monotonic() - at);
    return result;
  };
}

/**
 * Reads all orders again, because a shop may book late, or a second time. Waits until `notBefore` (monotonic clock), and
 * until each payment that is not shown counts as lost.
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
  const rereadHistory = async (item: JudgedHistory): Promise<JudgedHistory> => {
    const { name, evidence, verdict } = item;
    if (evidence === undefined || signal.aborted) return item;
    const result = await readAgain(bench, name, { ...evidence, verdict });
    // An interrupted reading proves nothing new; a payment that was not shown in time was lost before.
    return signal.aborted ? item : { ...item, evidence: result, verdict: result.verdict };
  };
  // Many servers accept only a few connections at the same moment.
  const lanes = createTurnQueue(MAX_PARALLEL_READS);
  const rereadHistories = [...histories];
  await Promise.all(
    histories.map((item, index) =>
      lanes.run(async () => void (rereadHistories[index] = await rereadHistory(item))),
    ),
  );
  return rereadHistories;
}

async function readAgain(bench: Bench, name: string, played: PlayResult): Promise<PlayResult> {
  const { world, shop } = bench;
  const { facts, orders, at } = played;
  // An order that only another system has created is not judged.
  const ownOrders = orders.filter((order) => ownCheckouts(order).length > 0);
  const looks = await Promise.all(ownOrders.map((order) => lookAgain(bench, order)));
  const elapsedMs = bookingTimeoutMs(bench) + world.monotonic() - at;
  const verdict = judgeLaterLooks(historyOf(name), played, { looks, settleMs: shop.settleMs, elapsedMs });
  return { ...played, facts: [...facts, ...looks], verdict };
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

/**
 * If one broken rule has this many different likely causes, none of them explains all breaks, and only proven causes
 * are kept.
 */
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
