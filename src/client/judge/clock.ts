// Steps of a search, which moves the store's clock instead of waiting.
import { isFinal } from "../../core/checkout/payment.ts";
import { answersIn, mustShopKnow } from "../../core/judge/deliveries.ts";
import { type ObservedDelivery } from "../../core/judge/observation.ts";
import { isAnsweredWithSecret } from "../../core/judge/secrets.ts";
import { refresh, type Bench, type Purchase } from "./bench.ts";
import { hasNewOrderId } from "./buy.ts";
import type { Play } from "./faults.ts";

/** Within this time an order expires and its deliveries use all their attempts, in milliseconds. */
const SPAN_MS = 72 * 3_600_000;
/** Maximum number of such spans, for longer delivery schedules. */
const MAX_SPANS = 5;
const PAGE_LIMIT = 1000;

/** Moves the store's clock; the service makes the deliveries that fall due. */
export async function advance({ call }: Pick<Bench, "call">, spanMs: number): Promise<void> {
  await call({ name: "moveClock", body: { action: "advance", byMs: spanMs } });
}

/** Moves the clock until every checkout of the purchase is final and no delivery is due. */
export async function deliverAll({ bench, facts }: Play, purchase: Purchase): Promise<void> {
  for (let span = 1; span <= MAX_SPANS; span += 1) {
    await advance(bench, SPAN_MS);
    await refresh(bench, purchase);
    purchase.deliveries = await deliveriesOf(bench, purchase);
    const isOver =
      purchase.checkouts.every(({ status }) => isFinal(status)) &&
      purchase.deliveries.every(({ state }) => state !== "due");
    if (isOver) break;
  }
  const { deliveries = [], checkouts } = purchase;
  purchase.isNotified = mustShopKnow(deliveries);
  const clientFact = { runs: [], liveCount: checkouts.length, hasNewOrderId: hasNewOrderId(bench, purchase) };
  facts.push(...answersIn(deliveries), { kind: "client", purchase: clientFact });
}

/** The deliveries of a run, oldest first. */
async function deliveriesOf(
  { call, search, notes }: Bench,
  { cartId }: Purchase,
): Promise<readonly ObservedDelivery[]> {
  const { endpointId } = search ?? {};
  const runFilter = endpointId === undefined ? {} : { orderId: cartId, endpointId };
  const { deliveries } = await call({ name: "listDeliveries", body: { limit: PAGE_LIMIT, ...runFilter } });
  if (deliveries.some(isAnsweredWithSecret)) notes.secretPlaces.add("answer");
  return deliveries
    .map(({ type: eventType, cause, state, attempts }) => ({ eventType, cause, state, attempts }))
    .toReversed();
}
