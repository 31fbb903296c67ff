import type { Checkout } from "../checkout/checkout.ts";
import { toIso } from "../clock.ts";
import { formatAmount } from "../money.ts";
import { causeText, holdingFault, likelyCause, type StoryDelivery } from "./delivery.ts";
import { english } from "../language.ts";
import { displayText } from "../text.ts";
import { NO_REFUSAL, type Explanation } from "./explanation.ts";
import { EXPLAIN_SENTENCES, SUMMARY_SENTENCES } from "./sentences.ts";
import { timelineOf, type CheckoutStory, type StoryMaterial } from "./timeline.ts";
const STATES_DECISION = 10;

type StoryCheckout = { readonly checkout: Checkout; readonly story: CheckoutStory };

export function explainCheckout(
  { checkout, story }: StoryCheckout,
  { requests, now }: Pick<StoryMaterial, "requests" | "now">,
): Explanation {
  return {
    ...NO_REFUSAL,
    kind: "checkout",
    id: checkout.id,
    summary: summaryOf(checkout),
    rule: FINAL_STATES_RULE,
    decision: STATES_DECISION,
    ...timelineOf({ checkouts: [story], requests, now }),
    next: nextCommands(checkout, story.deliveries),
  };
}

export function explainOrder(
  orderId: string,
  checkouts: readonly StoryCheckout[],
  { requests, now }: Pick<StoryMaterial, "requests" | "now">,
): Explanation {
  const lastCheckout = checkouts.at(-1);
  const countText = checkouts.length > 1 ? ` (${SUMMARY_SENTENCES.newest(checkouts.length)})` : "";
  const lastRequest = requests.at(-1);
  const explainCommands = lastRequest === undefined ? [] : [`checkout explain ${lastRequest.requestId}`];
  return {
    ...NO_REFUSAL,
    kind: "order",
    id: orderId,
    summary:
      lastCheckout === undefined
        ? noCheckoutSentence(requests)
        : `${summaryOf(lastCheckout.checkout)}${countText}`,
    decision: PURCHASE_DECISION,
    ...timelineOf({ checkouts: checkouts.map(({ story }) => story), requests, now }),
    next:
      lastCheckout === undefined
        ? explainCommands
        : nextCommands(lastCheckout.checkout, lastCheckout.story.deliveries),
  };
}

function noCheckoutSentence(requests: StoryMaterial["requests"]): string {
  if (requests.some(({ status }) => status === 201)) return SUMMARY_SENTENCES.checkoutsGone;
  return SUMMARY_SENTENCES.noCheckout(requests.filter(({ status }) => status >= 400).length);
}

const PURCHASE_DECISION = 8;
const FINAL_STATES_RULE = 4;

export function explainEvent(
  event: CheckoutStory["events"][number],
  deliveries: readonly StoryDelivery[],
  now: number,
): Explanation {
  const acceptedCount = deliveries.filter(({ state }) => state === "succeeded").length;
  const deliverySentence =
    deliveries.length === 0
      ? SUMMARY_SENTENCES.notWanted
      : SUMMARY_SENTENCES.sent(acceptedCount, deliveries.length);
  return {
    ...NO_REFUSAL,
    kind: "event",
    id: event.id,
    summary: `${event.type}: ${deliverySentence}`,
    rule: EVENTS_RULE,
    decision: SCHEDULE_DECISION,
    ...timelineOf({ checkouts: [{ ...EMPTY_STORY, events: [event], deliveries }], requests: [], now }),
    next: [
      ...new Set(helpCommands(deliveries)).add(
        deliveries.length === 0 ? "checkout endpoints list" : `checkout events replay ${event.id}`,
      ),
    ],
  };
}

const EMPTY_STORY = { attempts: [], lateResults: [], views: [], dueChanges: [] } as const;

const EVENTS_RULE = 31;
const SCHEDULE_DECISION = 13;

export function explainDelivery(
  event: CheckoutStory["events"][number],
  delivery: StoryDelivery,
  now: number,
): Explanation {
  const lastAttempt = delivery.attempts.at(-1);
  const fault = holdingFault(delivery);
  const cause =
    (lastAttempt && causeText(lastAttempt, english)) ?? (fault && english(EXPLAIN_SENTENCES.heldBy(fault)));
  const explanation = explainEvent(event, [delivery], now);
  const sentence = SUMMARY_SENTENCES.delivery(event.type, delivery.state, delivery.attempts.length);
  return {
    ...explanation,
    kind: "delivery",
    id: delivery.id,
    next: explanation.next.filter((command) => command !== `checkout explain ${delivery.id}`),
    summary: `${sentence}${cause === undefined ? "" : `; ${cause}`}`,
  };
}

function summaryOf(checkout: Checkout): string {
  const { object, orderId, amountMinor, currency, paymentMethod, status, expiresAt } = checkout;
  const objectText = object === "order" ? "order" : "checkout session of order";
  const statusText = `${status}, ${SUMMARY_SENTENCES.status[status](toIso(expiresAt))}`;
  return `${objectText} ${displayText(orderId)}, ${formatAmount(amountMinor, currency)} by ${paymentMethod}: ${statusText}`;
}

export function nextCommands(
  { id, status }: Checkout,
  deliveries: readonly StoryDelivery[],
): readonly string[] {
  const isPayable = status === "created" || status === "pending";
  const payCommands = isPayable ? [`checkout sandbox pay ${id} --outcome succeeded`] : [];
  return [...payCommands, ...helpCommands(deliveries)];
}

function helpCommands(deliveries: readonly StoryDelivery[]): readonly string[] {
  const delivery = deliveries.find(({ state, attempts }) => state !== "succeeded" && attempts.length > 0);
  const lastAttempt = delivery?.attempts.at(-1);
  const helpCommand = lastAttempt && likelyCause(lastAttempt)?.next;
  if (delivery === undefined || helpCommand === undefined) return [];
  return [
    `checkout explain ${delivery.id}`,
    helpCommand.replace("<endpoint_id>", delivery.endpointId).replace("<event_id>", delivery.eventId),
  ];
}
