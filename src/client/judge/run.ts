// Runs the histories of a shop: a plain purchase first, which measures how long a payment needs, restarts, then the others
// side by side, and those that need the whole shop alone.
import type { CheckoutObject } from "../../core/checkout/checkout.ts";
import { entryLine } from "../../core/explain/span.ts";
import {
  HISTORIES,
  MUCH_LATER,
  PLAIN_PURCHASE,
  type HistoryName,
} from "../../core/judge/histories/histories.ts";
import {
  isBusyAnswer,
  judgeHistory,
  judgeLater,
  mayBeLate,
  notJudged,
  type HistoryVerdict,
} from "../../core/judge/judge.ts";
import { type Observation } from "../../core/judge/observation.ts";
import type { Said } from "../../core/readiness/drill-shapes.ts";
import { factOf } from "../../core/readiness/drills/said.ts";
import type { History, Need, OrderName } from "../../core/judge/step.ts";
import { dialectFact, lastCheckout, NoOrder, type Bench, type Purchase, type Purchases } from "./bench.ts";
import type { PlainPurchase } from "./plain.ts";
import { lookLater, patienceMs, quietMs } from "./looks.ts";
import { playHistory } from "./play.ts";

export type JudgedHistory = {
  readonly name: HistoryName | typeof PLAIN_PURCHASE | typeof MUCH_LATER;
  readonly part: History["part"];
  readonly verdict: HistoryVerdict;
  /** The checkout of the subject; null if there is none. */
  readonly reference: string | null;
  /** The timeline of the subject, for a broken history. */
  readonly story: readonly string[];
  /** What was seen, the orders, and when, by the monotonic clock, for a later look. */
  readonly seen?: {
    readonly facts: readonly Observation[];
    readonly orders: Purchases;
    readonly at: number;
  };
};

type RunPlan = {
  readonly parts: ReadonlySet<History["part"]>;
  readonly only: ReadonlySet<string> | undefined;
  readonly budgetMs: number;
  readonly onJudged: (judged: JudgedHistory) => void;
};

/** Histories at a time; they mostly wait, and longer for a shop that books later. */
const WIDTH = 6;
const WIDTH_OF_SLOW = 10;
const SLOW_MS = 800;
/** Time after which a shop's short-lived memory of events has expired, in milliseconds. */
const MEMORY_MS = 31_000;
/** Further runs of a history whose break may be chance; one of them must break its rule too. */
const CONFIRMATIONS = 2;

/** Runs all histories of the plan under a lease, those that the shop allows. */
export async function runHistories(
  bench: Bench,
  plan: RunPlan,
  startedAt: number,
): Promise<readonly JudgedHistory[]> {
  const { world, shop } = bench;
  let until = startedAt + plan.budgetMs;
  const judged: JudgedHistory[] = [];
  const unsure: (readonly [turn: Turn, first: Played])[] = [];
  const failing = new AbortController();
  const others = Promise.withResolvers<void>();
  const ownBench = {
    ...bench,
    others: others.promise,
    signal: AbortSignal.any([bench.signal, failing.signal]),
  };
  const isLate = (): boolean => world.monotonic() >= until;
  const report = (one: JudgedHistory): void => {
    judged.push(one);
    if (!isLeftOut(one)) plan.onJudged(one);
  };
  const run = async (turn: Turn): Promise<void> => {
    const left = judged.some(isStuck) ? "stuck" : isLate() ? "budget" : bench.signal.aborted && "interrupted";
    if (left !== false) {
      report(unplayed(turn, factOf(left)));
      return;
    }
    const played = await playOnce(ownBench, turn);
    if (failing.signal.aborted) return;
    if (isBusyBreak(played)) unsure.push([turn, played]);
    else report(await judgedAs(bench, turn, played));
  };
  const runAlone = async (some: readonly Turn[]): Promise<void> => {
    for (const turn of some) await run(turn);
    for (const [turn, first] of unsure.splice(0)) report(await confirm(bench, turn, first, isLate));
  };
  const { restarts = [], lasting = [], beside = [], alone = [], outages = [] } = phasesOf(shop, plan);
  await runAlone(restarts);
  const worker = async (some: Iterable<Turn>): Promise<void> => {
    try {
      for (const turn of some) await run(turn);
    } catch (error) {
      // Without its lease, for example, nothing more may be done to the shop.
      failing.abort(error);
      throw error;
    }
  };
  const lanes = Promise.allSettled(lasting.map((turn) => worker([turn])));
  const left = beside.values();
  const width = bench.recording.slowestMs > SLOW_MS ? WIDTH_OF_SLOW : WIDTH;
  await Promise.allSettled(Array.from({ length: width }, () => worker(left)));
  try {
    // The first error: the other lanes only say that they were stopped.
    failing.signal.throwIfAborted();
    // Those alone, which wait for the shop's command, have the same time once more.
    until = world.monotonic() + plan.budgetMs;
    await runAlone([]);
    await runAlone(alone);
  } finally {
    others.resolve();
    await lanes;
  }
  failing.signal.throwIfAborted();
  await runAlone(outages);
  return judged;
}

/** Whether the budget was used up before a history began, or the shop refused all events by then. */
export function isLeftOut({ verdict }: Pick<JudgedHistory, "verdict">): boolean {
  return (
    verdict.state === "not_judged" && typeof verdict.reason !== "string" && LEFT_OUT.has(verdict.reason.fact)
  );
}

const LEFT_OUT: ReadonlySet<string> = new Set(["budget", "stuck"]);

/** Whether the shop takes no more events, so that no other history can show anything. */
export function isStuck({ verdict }: Pick<JudgedHistory, "verdict">): boolean {
  return verdict.state === "broken" && verdict.cause === "refuses_since_restart";
}

type Phase = "restarts" | "lasting" | "beside" | "alone" | "outages";

function phasesOf(shop: Bench["shop"], plan: RunPlan): Partial<Record<Phase, Turn[]>> {
  const names = (Object.keys(HISTORIES) as HistoryName[]).filter(
    (name) => isPlanned(name, plan) && canRun(HISTORIES[name] as History, shop),
  );
  const kinds = shop.kinds ?? (["order"] as const);
  const turns = kinds.flatMap((kind) => names.map((name): Turn => [name, kind]));
  return Object.groupBy(turns, ([name]): Phase => {
    const { needs = [], steps, isAlone }: History = HISTORIES[name];
    // First, because no other history shows what a shop keeps only in memory.
    if (needs.includes("restart")) return "restarts";
    // They begin before the others and end after them.
    if (steps.some(({ act }) => act === "wait_for_others")) return "lasting";
    // Last, because a shop may protect itself for a while then.
    if (steps.some((step) => step.act === "faults" && step.of === "all")) return "outages";
    return isAlone === true ? "alone" : "beside";
  });
}

/** Each history once, in their order: of several runs the one that held least. */
export function mergeRuns(judged: readonly JudgedHistory[]): readonly JudgedHistory[] {
  const names = [PLAIN_PURCHASE, ...(Object.keys(HISTORIES) as HistoryName[]), MUCH_LATER];
  return names.flatMap((name) => {
    const own = judged.filter((one) => one.name === name);
    const worst = ["broken", "not_judged", "held"].flatMap((state) =>
      own.filter(({ verdict }) => verdict.state === state),
    );
    return worst.slice(0, 1);
  });
}

type Turn = readonly [name: HistoryName, kind: CheckoutObject];

/** Waits until a shop's short-lived memory of events has expired, and late work is done. */
export async function waitForMemories({ world, signal }: Bench, { paidAt }: PlainPurchase): Promise<void> {
  const leftMs = paidAt + MEMORY_MS - world.monotonic();
  if (leftMs > 0) await world.sleep(leftMs, signal);
}

/** Time after which a payment that is not shown is lost, in milliseconds, if the shop needs no longer time. */
const LOST_MS = 20_000;

/** When each payment that was not shown has had its time: a shop may book late, or a second time. */
export async function lookAgain(
  bench: Bench,
  judged: readonly JudgedHistory[],
): Promise<readonly JudgedHistory[]> {
  const { world, shop, signal } = bench;
  if (shop.view === undefined) return judged;
  const late = judged.filter(({ verdict, seen }) => seen !== undefined && mayBeLate(verdict));
  const until = Math.max(
    ...judged.map(({ seen }) => (seen?.at ?? 0) + quietMs(bench)),
    ...late.map(({ seen }) => (seen?.at ?? 0) + LOST_MS - patienceMs(bench)),
  );
  if (until > world.monotonic()) await world.sleep(until - world.monotonic(), signal);
  return Promise.all(
    judged.map(async (one) => {
      const { name, seen, verdict } = one;
      if (seen === undefined || signal.aborted || !(name in HISTORIES)) return one;
      // What a shop shows of an order that only another system has created is not judged.
      const known = [...seen.orders].filter(([, { checkouts, foreign }]) =>
        checkouts.some(({ id }) => !foreign.has(id)),
      );
      const looks = await Promise.all(known.map(([of, purchase]) => lookLater(bench, of, purchase)));
      const sinceMs = patienceMs(bench) + world.monotonic() - seen.at;
      const later = { looks, settleMs: shop.settleMs, sinceMs };
      return {
        ...one,
        verdict: judgeLater(HISTORIES[name as HistoryName] as History, { verdict, ...seen }, later),
      };
    }),
  );
}

function isPlanned(name: HistoryName, { parts, only }: RunPlan): boolean {
  return only === undefined ? parts.has(HISTORIES[name].part) : only.has(name);
}

function canRun({ needs: wanted = [], steps }: History, shop: Bench["shop"]): boolean {
  const isSeen = shop.view !== undefined || steps.every(({ act }) => act !== "look");
  return isSeen && wanted.every((need: Need) => shop[need] !== undefined);
}

/** A busy machine or another history may cause such a break: it must break its rule again, alone. */
function isBusyBreak({ verdict, facts }: Played): boolean {
  if (verdict.state !== "broken" || isStuck({ verdict })) return false;
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

function unplayed([name]: Turn, reason: Said, got: Said = ""): JudgedHistory {
  const { part } = HISTORIES[name];
  return { name, part, verdict: notJudged(reason, null, got), reference: null, story: [] };
}

async function judgedAs(bench: Bench, turn: Turn, played: Played): Promise<JudgedHistory> {
  if (bench.signal.aborted) return unplayed(turn, factOf("interrupted"));
  const [name] = turn;
  const { verdict, orders } = played;
  const checkouts = orders.get("a")?.checkouts ?? [];
  const isBroken = verdict.state === "broken";
  const subject = isBroken ? checkouts.at(-1) : checkouts[0];
  const story = isBroken && subject !== undefined ? await storyOf(bench, subject.orderId) : [];
  return { name, part: HISTORIES[name].part, verdict, reference: subject?.id ?? null, story, seen: played };
}

/** Plays a history alone whose break may be chance. A shop that says that it is busy is right if it holds alone. */
async function confirm(
  bench: Bench,
  turn: Turn,
  { verdict: first }: Played,
  isLate: () => boolean,
): Promise<JudgedHistory> {
  for (let run = 0; run < CONFIRMATIONS && !isLate(); run += 1) {
    const again = await playOnce(bench, turn);
    const isRight =
      first.state === "broken" && first.invariant === "takes_events" && again.verdict.state === "held";
    if (isRight || again.verdict.state === "broken") return judgedAs(bench, turn, again);
  }
  const reason = bench.signal.aborted ? "interrupted" : isLate() ? "budget" : "not_again";
  return unplayed(turn, factOf(reason), first.got);
}

/** Plays a history, and judges it. A served shop that has ended meanwhile is started again. */
async function playOnce(bench: Bench, [name, kind]: Turn): Promise<Played> {
  const { world, shop } = bench;
  const history: History = HISTORIES[name];
  const orders = new Map<OrderName, Purchase>();
  const facts: Observation[] = [...dialectFact(bench, false)];
  const before = shop.served?.endings.length ?? 0;
  const problem = await playHistory(bench, history, { orders, kind, facts, isReadAgain: true }).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof NoOrder) return error.said;
      throw error;
    },
  );
  const got = shop.served?.endings.slice(before)[0];
  if (got !== undefined) {
    // First, because an end explains what was lost after it.
    facts.unshift({ kind: "end", got });
    await bench.alone(async () => shop.served?.revive());
  }
  const verdict = judgeHistory(history, facts, shop.settleMs);
  const at = world.monotonic();
  if (problem === undefined || verdict.state === "broken") return { orders, facts, at, verdict };
  return { orders, facts: [], at, verdict: notJudged(factOf("unpayable", problem), "create", problem) };
}

type Played = NonNullable<JudgedHistory["seen"]> & { readonly verdict: HistoryVerdict };

const MAX_STORY = 12;

/** The timeline of an order, at most this many lines. */
export async function storyOf({ call }: Pick<Bench, "call">, orderId: string): Promise<readonly string[]> {
  const { entries } = await call({ name: "explain", body: { id: orderId } });
  return entries.slice(-MAX_STORY).map(entryLine);
}

/** When a short-lived memory of events has expired, and after the events of all other orders. */
export async function tellMuchLater(bench: Bench, { purchase }: PlainPurchase): Promise<JudgedHistory> {
  const steps: History["steps"] = [
    { act: "look", of: "a" },
    { act: "tell", of: "a", statuses: ["succeeded"] },
    { act: "look", of: "a" },
  ];
  const history: History = {
    part: "duplicates",
    title: ["", ""],
    steps,
    causes: { booked_once: "forgets" },
  };
  const facts = await playHistory(bench, history, {
    orders: new Map([["a", { ...purchase, isTold: true }]]),
    facts: [...dialectFact(bench, false)],
  });
  const verdict = bench.signal.aborted
    ? notJudged(factOf("interrupted"), null)
    : judgeHistory(history, facts, bench.shop.settleMs);
  return { name: MUCH_LATER, part: "duplicates", verdict, reference: lastCheckout(purchase).id, story: [] };
}

export function plainHistory({ verdict, reference }: PlainPurchase): JudgedHistory {
  return { name: PLAIN_PURCHASE, part: "duplicates", verdict, reference, story: [] };
}
