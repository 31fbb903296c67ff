import { hash } from "node:crypto";
import { recordTestEvent, type CheckoutEvent } from "../../checkout/event.ts";
import { iso } from "../../clock.ts";
import { HEADERS, signatureOf } from "../../webhook/signature.ts";
import { CASE_NAMES, DRILL_CASES, ORDER_CASE_NAMES, type CaseName, type CaseResult } from "./webhook.ts";

/** After this many requests without an answer the rest is not sent. */
const MAX_UNANSWERED = 3;

/** A `webhook.test` event made for a drill: nothing happened, and it is in no list of events. */
export type DrillEvent = { readonly id: string; readonly storeId: string; readonly createdAt: number };

/** An event of an order that the drilled receiver has accepted before. */
type OrderEvent = Pick<CheckoutEvent, "id" | "body">;

/** The names of all cases of a drill: those of an order come before the last good event. */
export function casesOf(order: OrderEvent | null): readonly CaseName[] {
  return order === null
    ? CASE_NAMES
    : [...CASE_NAMES.slice(0, -1), ...ORDER_CASE_NAMES, ...CASE_NAMES.slice(-1)];
}

/** The secrets to sign with, and the time. */
type DrillKeys = {
  readonly secret: string;
  /** A secret that was rotated out; undefined if there is none. */
  readonly retiredSecret: string | undefined;
  /** Real time, in milliseconds: receivers compare it with theirs (decision 18). */
  readonly realNow: number;
};

/** The events that a case may send. */
type DrillEvents = {
  /** A new one, with an id that no other case has. */
  readonly own: DrillEvent;
  /** That of the first case. */
  readonly first: DrillEvent;
  readonly order: OrderEvent | null;
};

/** The request of a case, byte for byte. Throws for a case of an order if there is none. */
export function drillRequest(
  name: CaseName,
  events: DrillEvents,
  keys: DrillKeys,
): { readonly eventId: string; readonly headers: Readonly<Record<string, string>>; readonly body: string } {
  const {
    signed = same,
    sent = same,
    age = 0,
    signature = same,
    without = [],
    otherEventId,
  } = DRILL_CASES[name];
  const event = eventOf(name, events);
  const body = signed(event.body);
  const timestamp = String(Math.floor(keys.realNow / 1000) - age);
  const shown = signature(
    signatureOf(secretOf(name, events, keys), { timestamp, rawBody: Buffer.from(body) }),
  );
  const ours = {
    eventId: otherEventId === true ? events.own.id : event.id,
    timestamp,
    signature: shown,
  };
  const sentOurs = Object.entries(HEADERS).flatMap(([header, title]) =>
    without.some((one) => one === header) ? [] : [[title, ours[header as keyof typeof HEADERS]]],
  );
  return {
    eventId: event.id,
    headers: { ...otherHeaders(name), ...(Object.fromEntries(sentOurs) as Record<string, string>) },
    body: sent(body),
  };
}

function otherHeaders(name: CaseName): Readonly<Record<string, string>> {
  const { contentType = "application/json", tool } = DRILL_CASES[name];
  const agent =
    tool === "curl" ? { "User-Agent": "curl/8.5.0", Accept: "*/*" } : { "User-Agent": "checkout-sandbox" };
  return { ...agent, "Content-Type": contentType };
}

/** Whether nothing was shown: the receiver could not be reached at all, so it did nothing wrong. */
export function wasOutOfReach(results: readonly CaseResult[]): boolean {
  return results.every(
    ({ answer }) =>
      "error" in answer && (answer.error === "unreachable" || answer.error === "target_forbidden"),
  );
}

/** Whether to send the next case: not if the valid event got no answer, nor after too many requests without one. */
export function goesOn(results: readonly CaseResult[]): boolean {
  const unanswered = results.filter(({ answer }) => "error" in answer);
  return unanswered.length < MAX_UNANSWERED && unanswered.every(({ name }) => name !== "good_event");
}

function secretOf(name: CaseName, { own }: DrillEvents, { secret, retiredSecret }: DrillKeys): string {
  const { secret: which } = DRILL_CASES[name];
  if (which === "empty") return "";
  return which === "another" ? (retiredSecret ?? neverASecret(own)) : secret;
}

function eventOf(name: CaseName, { own, first, order }: DrillEvents): OrderEvent {
  const { event: which } = DRILL_CASES[name];
  if (which === undefined || which === "first") {
    const event = which === "first" ? first : own;
    return { id: event.id, body: recordTestEvent(event, event.createdAt).body };
  }
  if (order === null) throw new Error(`${name} needs an event of an order`);
  if (which === "order") return order;
  const type = which === "payment" ? paymentType(order) : which;
  return { id: own.id, body: bodyOfType(type, { own, order }) };
}

/** The type of the event that would say that the order of an event was paid. */
export function paymentType({ body }: OrderEvent): CheckoutEvent["type"] {
  const { type } = JSON.parse(body) as { readonly type: string };
  return type.startsWith("order.") ? "order.succeeded" : "checkout_session.succeeded";
}

/** What an event of another type would say about the order of an event. */
function bodyOfType(
  type: CheckoutEvent["type"],
  { own, order }: { readonly own: DrillEvent; readonly order: OrderEvent },
): string {
  const [object, status] = type.split(".");
  const event = JSON.parse(order.body) as { readonly sequence: number; readonly data: object };
  return JSON.stringify({
    ...event,
    event_id: own.id,
    type,
    created_at: iso(own.createdAt),
    sequence: event.sequence + 1,
    data: { ...event.data, object, status },
  });
}

function same(text: string): string {
  return text;
}

function neverASecret({ id }: DrillEvent): string {
  return `whsec_${hash("sha256", `never a secret, ${id}`, "base64url")}`;
}
