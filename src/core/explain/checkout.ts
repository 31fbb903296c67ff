import type { Checkout } from "../checkout/checkout.ts";
import { HIDDEN_FIELD, type FieldDisplay } from "../checkout/wire.ts";
import { toIso } from "../clock.ts";
import { formatAmount } from "../money.ts";
import { causeText, holdingFault, likelyCause, type StoryDelivery } from "./delivery.ts";
import { english, type Translator, type Words } from "../language.ts";
import { displayText } from "../text.ts";
import { NO_REFUSAL, type Explanation } from "./explanation.ts";
import { EXPLAIN_SENTENCES } from "./sentences.ts";
import { timelineOf, type CheckoutStory, type StoryMaterial } from "./timeline.ts";
const STATES_DECISION = 10;

type StoryCheckout = { readonly checkout: Checkout; readonly story: CheckoutStory };

export function explainCheckout(
  { checkout, story }: StoryCheckout,
  { requests, now }: Pick<StoryMaterial, "requests" | "now">,
  say: Translator = english,
): Explanation {
  return {
    ...NO_REFUSAL,
    kind: "checkout",
    id: checkout.id,
    summary: summaryOf(checkout, say),
    rule: FINAL_STATES_RULE,
    decision: STATES_DECISION,
    ...timelineOf({ checkouts: [story], requests, now }, say),
    next: nextCommands(checkout, story.deliveries),
  };
}

/** Explains an order, with its checkouts, oldest first, and the requests that created no checkout. */
export function explainOrder(
  orderId: string,
  checkouts: readonly StoryCheckout[],
  { requests, now }: Pick<StoryMaterial, "requests" | "now">,
  say: Translator = english,
): Explanation {
  const lastCheckout = checkouts.at(-1);
  const countText = checkouts.length > 1 ? ` (${say(EXPLAIN_SENTENCES.newest(checkouts.length))})` : "";
  const lastRequest = requests.at(-1);
  const explainCommands = lastRequest === undefined ? [] : [`checkout explain ${lastRequest.requestId}`];
  return {
    ...NO_REFUSAL,
    kind: "order",
    id: orderId,
    summary:
      lastCheckout === undefined
        ? say(noCheckoutSentence(requests))
        : `${summaryOf(lastCheckout.checkout, say)}${countText}`,
    decision: PURCHASE_DECISION,
    ...timelineOf({ checkouts: checkouts.map(({ story }) => story), requests, now }, say),
    next:
      lastCheckout === undefined
        ? explainCommands
        : nextCommands(lastCheckout.checkout, lastCheckout.story.deliveries),
  };
}

function noCheckoutSentence(requests: StoryMaterial["requests"]): Words {
  if (requests.some(({ status }) => status === 201)) return EXPLAIN_SENTENCES.checkoutsGone;
  return EXPLAIN_SENTENCES.noCheckout(requests.filter(({ status }) => status >= 400).length);
}

/** The decision that an order_id is one purchase. */
const PURCHASE_DECISION = 8;
const FINAL_STATES_RULE = 4;

export function explainEvent(
  event: CheckoutStory["events"][number],
  deliveries: readonly StoryDelivery[],
  now: number,
  say: Translator = english,
): Explanation {
  const acceptedCount = deliveries.filter(({ state }) => state === "succeeded").length;
  const deliverySentence =
    deliveries.length === 0
      ? EXPLAIN_SENTENCES.notWanted
      : EXPLAIN_SENTENCES.sent(acceptedCount, deliveries.length);
  return {
    ...NO_REFUSAL,
    kind: "event",
    id: event.id,
    summary: `${event.type}: ${say(deliverySentence)}`,
    rule: EVENTS_RULE,
    decision: SCHEDULE_DECISION,
    ...timelineOf({ checkouts: [{ ...EMPTY_STORY, events: [event], deliveries }], requests: [], now }, say),
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
  say: Translator = english,
): Explanation {
  const lastAttempt = delivery.attempts.at(-1);
  const fault = holdingFault(delivery);
  const cause =
    (lastAttempt && causeText(lastAttempt, say)) ?? (fault && say(EXPLAIN_SENTENCES.heldBy(fault)));
  const explanation = explainEvent(event, [delivery], now, say);
  const sentence = EXPLAIN_SENTENCES.delivery(event.type, delivery.state, delivery.attempts.length);
  return {
    ...explanation,
    kind: "delivery",
    id: delivery.id,
    next: explanation.next.filter((command) => command !== `checkout explain ${delivery.id}`),
    summary: `${say(sentence)}${cause === undefined ? "" : `; ${cause}`}`,
  };
}

const SUMMARY_TEXTS = {
  id: HIDDEN_FIELD,
  object: ({ object }) => (object === "order" ? "order" : "checkout session of order"),
  order_id: ({ orderId }) => displayText(orderId),
  amount_minor: ({ amountMinor, currency }) => formatAmount(amountMinor, currency),
  currency: HIDDEN_FIELD,
  status: ({ status, expiresAt }, say) =>
    `${status}, ${say(EXPLAIN_SENTENCES.status[status](toIso(expiresAt)))}`,
  checkout_url: HIDDEN_FIELD,
  livemode: HIDDEN_FIELD,
} as const satisfies FieldDisplay<(checkout: Checkout, say: Translator) => string>;

function summaryOf(checkout: Checkout, say: Translator): string {
  const checkoutText = `${SUMMARY_TEXTS.object(checkout)} ${SUMMARY_TEXTS.order_id(checkout)}, ${SUMMARY_TEXTS.amount_minor(checkout)}`;
  return `${checkoutText} by ${checkout.paymentMethod}: ${SUMMARY_TEXTS.status(checkout, say)}`;
}

function nextCommands({ id, status }: Checkout, deliveries: readonly StoryDelivery[]): readonly string[] {
  const isPayable = status === "created" || status === "pending";
  const payCommands = isPayable ? [`checkout sandbox pay ${id} --outcome succeeded`] : [];
  return [...payCommands, ...helpCommands(deliveries)];
}

/** Commands that help with the first failing delivery. */
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
