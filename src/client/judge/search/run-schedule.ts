import { isPaymentDropped } from "../../../core/judge/deliveries.ts";
import { verdictsOn } from "../../../core/judge/judge.ts";
import type { Observation } from "../../../core/judge/observation.ts";
import type { WatchedRun } from "../../../core/judge/client.ts";
import { englishOf, factOf } from "../../../core/readiness/drills/said.ts";
import { isKill, type Schedule } from "../../../core/judge/schedule.ts";
import { historyOf } from "../../../core/judge/schedule-history.ts";
import type { Trace } from "../../../core/judge/search.ts";
import { isRequestWithSecret } from "../../../core/judge/secrets.ts";
import type { CallOperation } from "../../control/control.ts";
import { createPurchase, dialectFacts, type Bench, type JudgedShop, type Purchase } from "../bench.ts";
import { playHistory } from "../play.ts";
import { storyOf } from "../run.ts";

export type SearchBench = { readonly bench: Bench; readonly close: () => Promise<unknown> };

export type ExploreRun = Awaited<ReturnType<typeof runSchedule>>;

const PAGE_LIMIT = 1000;

export function callOnStore(call: CallOperation, storeId: string): CallOperation {
  return ((request: Parameters<CallOperation>[0]) => call({ ...request, storeId })) as CallOperation;
}

export async function runSchedule(
  openBench: (schedule: Schedule) => Promise<SearchBench>,
  schedule: Schedule,
) {
  const { bench, close } = await openBench(schedule);
  try {
    return await play(bench, schedule);
  } finally {
    await close();
  }
}

async function play(bench: Bench, schedule: Schedule) {
  const { shop, notes } = bench;
  const purchase = createPurchase(bench.newId());
  const { dialect } = await bench.call({ name: "storeSummary", body: undefined });
  const facts: Observation[] = [...dialectFacts({ dialect }, schedule.faults.length === 0)];
  const history = historyOf(schedule, {
    hasView: shop.view !== undefined,
    hasReturnPage: shop.returns !== undefined,
  });
  await playHistory(bench, history, { orders: [purchase], facts, isReadAgain: false });
  const trace = await traceOf(bench, purchase, facts);
  facts.unshift({ kind: "secrets", places: notes.secretPlaces }, ...endFacts(shop));
  const isDown = shop.server?.isDown() === true;
  const log = {
    deliveries: purchase.deliveries ?? [],
    isKilled: schedule.faults.some(({ action }) => isKill(action)),
  };
  const { judgedRules, brokenRules } = verdictsOn(
    facts.flatMap((fact) => {
      // A shop that could not be restarted cannot answer events.
      if (isDown && fact.kind === "refused") return [];
      return fact.kind === "look" ? { ...fact, log } : fact;
    }),
  );
  const ruleByInvariant = new Map(brokenRules.toReversed().map((rule) => [rule.invariant, rule]));
  const lastLook = facts.findLast((fact) => fact.kind === "look");
  const isPaymentHidden = lastLook?.truth.isPaid === true && lastLook.view?.paid === false;
  const purchaseRuns = purchaseRunsIn(facts);
  return {
    schedule,
    trace,
    judgedInvariants: judgedRules,
    broken: [...ruleByInvariant.values()].toReversed(),
    isEventLost: isPaymentHidden && isPaymentDropped(log.deliveries),
    purchaseRuns,
    lastLook,
    viewError: notes.viewError,
    story: brokenRules.length === 0 ? "" : await storyText(bench, purchase, { trace, purchaseRuns }),
  };
}

function endFacts({ server }: JudgedShop): readonly Observation[] {
  if (server === undefined) return [];
  const isKilled = server.isDown();
  const gotEnding = isKilled ? factOf("not_started_again") : (server.endings[0] ?? null);
  return [{ kind: "end", got: gotEnding, isKilled }];
}

function purchaseRunsIn(facts: readonly Observation[]): readonly WatchedRun[] {
  return facts.flatMap((fact) => (fact.kind === "client" ? fact.purchase.runs : []));
}

async function traceOf(
  { call, search, notes }: Bench,
  { cartId, checkouts, deliveries = [] }: Purchase,
  facts: readonly Observation[],
): Promise<Trace> {
  const body = { limit: PAGE_LIMIT, ...(search?.isOwn === false && { orderId: cartId }) };
  const { requests } = await call({ name: "listRequests", body });
  if (requests.some(isRequestWithSecret)) notes.secretPlaces.add("request");
  return {
    requests: requests.map(({ method, path, status, fault }) => ({
      method,
      path,
      status,
      isFaulty: fault !== null,
    })),
    deliveries,
    hasOrder: checkouts.length > 0,
    hasPurchased: purchaseRunsIn(facts)[0]?.isDone === true,
  };
}

async function storyText(
  bench: Bench,
  { checkouts, paidCheckout }: Purchase,
  { trace, purchaseRuns }: { readonly trace: Trace; readonly purchaseRuns: readonly WatchedRun[] },
): Promise<string> {
  const subject = paidCheckout ?? checkouts.at(-1);
  const lines =
    subject === undefined
      ? trace.requests.map(({ method, path, status }) => `${method} ${path}: ${status}`)
      : await storyOf(bench, subject.orderId, []);
  const endTexts = purchaseRuns.map(({ hasEnded, isDone, got }) => {
    if (!hasEnded) return "the purchase did not end within its timeout";
    return isDone ? "the purchase reported its order" : `the purchase failed: ${englishOf(got)}`;
  });
  return [...lines, ...endTexts].join("\n");
}
