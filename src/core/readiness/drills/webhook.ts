import { hash } from "node:crypto";
import type { DeliveryError } from "../../webhook/delivery.ts";
import { recordTestEvent, type CheckoutEvent } from "../../checkout/event.ts";
import { STATUSES, type CheckoutObject, type Status } from "../../checkout/checkout.ts";
import { iso } from "../../clock.ts";
import type { DrillStep } from "../../control/drills.ts";
import { STALE_BY_SECONDS } from "../../webhook/tampering.ts";
import { DEFAULT_TOLERANCE_SECONDS, HEADERS, signatureOf } from "../../webhook/signature.ts";

/** An event type of a checkout. */
type OrderType = CheckoutEvent["type"];

/** How one request of the drill differs from a valid one. Fields that are not set are as in a valid one. */
type DrillCase = {
  /** What is sent, for people. */
  readonly what: string;
  /**
   * `2xx`: it must be accepted. `4xx`: it must be refused. `4xx or 5xx`: it must not be accepted; the service never sends
   * it. `2xx or 4xx`: the interface leaves it open.
   */
  readonly expected: "2xx" | "4xx" | "4xx or 5xx" | "2xx or 4xx";
  /**
   * Which event is sent (default: a new one). `first`: that of the first case. `order`: the order event that the
   * receiver has accepted before. `payment`: a new one that says that this order was paid. A type: a new event of that
   * type, about the same order.
   */
  readonly event?: "first" | "order" | "payment" | OrderType;
  /** Makes the bytes to sign from those of the event. */
  readonly signed?: (body: string) => string;
  /** Makes the bytes to send from those that were signed. */
  readonly sent?: (signed: string) => string;
  /** Age of the timestamp, in seconds; negative means in the future. */
  readonly age?: number;
  /** Headers of ours that are not sent. */
  readonly without?: readonly (keyof typeof HEADERS)[];
  /** The type of content; with `tool`, all headers but those of ours are as that tool sends them. */
  readonly contentType?: string;
  readonly tool?: "curl";
  /** Whether the event id header is that of another event. */
  readonly otherEventId?: true;
  /** The secret to sign with instead: one that is not active, or none at all. */
  readonly secret?: "another" | "empty";
  /** Makes the signature header from the right signature. */
  readonly signature?: (right: string) => string;
};

/** How many digits are right in a signature of which only the beginning is right: half of them. */
const RIGHT_DIGITS = 32;
/** How many digits are right at the two ends of a signature whose middle is wrong. */
const RIGHT_ENDS = { first: 40, last: 8 } as const;

/** Every receiver must accept this age, in seconds, before and after its clock. */
const MINUTE = 60;
/** Every receiver must refuse this one. */
const TEN_MINUTES = 600;
/** Just within the tolerance that decision 12 chose, and just beyond it. The interface states none. */
const WITHIN_TOLERANCE = DEFAULT_TOLERANCE_SECONDS - 10;
const BEYOND_TOLERANCE = DEFAULT_TOLERANCE_SECONDS + 30;

/** After this many requests without an answer the rest is not sent. */
const MAX_UNANSWERED = 3;

const cases = {
  good_event: { what: "a good event", expected: "2xx" },
  duplicate: { what: "the same event again, signed anew", expected: "2xx", event: "first" },
  spaced_body: { what: "a good event with blanks between its tokens", expected: "2xx", signed: spaced },
  unusual_bytes: { what: "a good event in unusual bytes", expected: "2xx", signed: unusual },
  bad_signature: { what: "a signature that no secret made", expected: "4xx", signature: wrong },
  wrong_secret: { what: "signed with another secret", expected: "4xx", secret: "another" },
  changed_byte: { what: "one byte of the body changed", expected: "4xx", sent: withOtherDigit },
  rewritten_body: { what: "the same JSON in other white space", expected: "4xx", sent: indented },
  right_beginning: {
    what: `a signature of which the first ${RIGHT_DIGITS} digits are right`,
    expected: "4xx",
    signature: (right) => right.slice(0, RIGHT_DIGITS) + otherDigits(right.slice(RIGHT_DIGITS)),
  },
  short_signature: {
    what: `a signature that ends after ${RIGHT_DIGITS} right digits`,
    expected: "4xx",
    signature: (right) => right.slice(0, RIGHT_DIGITS),
  },
  no_signature: { what: "no signature", expected: "4xx", without: ["signature"] },
  no_event: {
    what: "a body that is no JSON, badly signed",
    expected: "4xx",
    signed: () => "this is no event",
    signature: wrong,
  },
  hour_old: { what: "signed an hour ago", expected: "4xx", age: STALE_BY_SECONDS },
  hour_ahead: { what: "signed an hour ahead", expected: "4xx", age: -STALE_BY_SECONDS },
  minute_old: { what: "signed a minute ago", expected: "2xx", age: MINUTE },
  minute_ahead: { what: "signed a minute ahead", expected: "2xx", age: -MINUTE },
  within_tolerance_old: { what: "signed 4 min 50 s ago", expected: "2xx or 4xx", age: WITHIN_TOLERANCE },
  within_tolerance_ahead: { what: "signed 4 min 50 s ahead", expected: "2xx or 4xx", age: -WITHIN_TOLERANCE },
  beyond_tolerance_old: { what: "signed 5 min 30 s ago", expected: "2xx or 4xx", age: BEYOND_TOLERANCE },
  beyond_tolerance_ahead: { what: "signed 5 min 30 s ahead", expected: "2xx or 4xx", age: -BEYOND_TOLERANCE },
  ten_minutes_old: { what: "signed 10 minutes ago", expected: "4xx", age: TEN_MINUTES },
  ten_minutes_ahead: { what: "signed 10 minutes ahead", expected: "4xx", age: -TEN_MINUTES },
  no_timestamp: { what: "no timestamp", expected: "4xx", without: ["timestamp"] },
  empty_signature: { what: "an empty signature", expected: "4xx", signature: () => "" },
  empty_secret: { what: "signed with an empty secret", expected: "4xx", secret: "empty" },
  first_digit: {
    what: "a signature whose first digit is wrong",
    expected: "4xx",
    signature: (right) => otherDigits(right.slice(0, 1)) + right.slice(1),
  },
  last_digit: {
    what: "a signature whose last digit is wrong",
    expected: "4xx",
    signature: (right) => right.slice(0, -1) + otherDigits(right.slice(-1)),
  },
  right_ends: {
    what: `a signature of which the first ${RIGHT_ENDS.first} and the last ${RIGHT_ENDS.last} digits are right`,
    expected: "4xx",
    signature: withOtherMiddle,
  },
  first_of_three: { what: "the right signature, first of three", expected: "2xx", signature: placed(0) },
  second_of_three: { what: "the right signature, second of three", expected: "2xx", signature: placed(1) },
  third_of_three: { what: "the right signature, last of three", expected: "2xx", signature: placed(2) },
  other_event_id: {
    what: "the first event again, under another id in its header",
    expected: "2xx or 4xx",
    event: "first",
    otherEventId: true,
  },
  no_event_id: { what: "no event id, badly signed", expected: "4xx", without: ["eventId"], signature: wrong },
  only_signature: {
    what: "neither event id nor timestamp, badly signed",
    expected: "4xx",
    without: ["eventId", "timestamp"],
    signature: wrong,
  },
  only_timestamp: {
    what: "neither event id nor signature",
    expected: "4xx",
    without: ["eventId", "signature"],
  },
  only_event_id: {
    what: "neither timestamp nor signature",
    expected: "4xx",
    without: ["timestamp", "signature"],
  },
  no_headers: {
    what: "no Checkout header, as curl sends it",
    expected: "4xx",
    without: ["eventId", "timestamp", "signature"],
    tool: "curl",
  },
  no_headers_form: {
    what: "no Checkout header, as curl -d sends it: as a form",
    expected: "4xx or 5xx",
    without: ["eventId", "timestamp", "signature"],
    tool: "curl",
    contentType: "application/x-www-form-urlencoded",
  },
  plain_text: {
    what: "badly signed, as plain text",
    expected: "4xx or 5xx",
    contentType: "text/plain",
    signature: wrong,
  },
  good_at_the_end: { what: "a good event after all that", expected: "2xx" },
} as const satisfies Readonly<Record<string, DrillCase>>;

/** What is sent about an order too, with the merchant's consent. */
const orderCases = {
  order_event: {
    what: "an event of an order again, as it was accepted before",
    expected: "2xx",
    event: "order",
  },
  ...forgedPayments(),
  ...forgedOrders(),
} as const satisfies Readonly<Record<string, DrillCase>>;

type RefusedName = {
  [Name in keyof typeof cases]: (typeof cases)[Name]["expected"] extends "4xx" | "4xx or 5xx" ? Name : never;
}[keyof typeof cases];
type PaymentName = `payment_${RefusedName}`;
type ForgedName = `forged_${CheckoutObject}_${Status}`;

/** The name of a case. */
export type CaseName = keyof typeof cases | keyof typeof orderCases;

/** What the webhook drill sends (decisions 50, 67 and 68). */
export const DRILL_CASES: Readonly<Record<CaseName, DrillCase>> = { ...cases, ...orderCases };

/** The names of all cases that are always sent, in the order in which they are sent. */
export const CASE_NAMES = Object.keys(cases) as readonly CaseName[];

/** The names of the cases that need an order event, in the order in which they are sent. */
export const ORDER_CASE_NAMES = Object.keys(orderCases) as readonly CaseName[];

/** The names of all cases of a drill: those of an order come before the last good event. */
export function casesOf(order: OrderEvent | null): readonly CaseName[] {
  return order === null
    ? CASE_NAMES
    : [...CASE_NAMES.slice(0, -1), ...ORDER_CASE_NAMES, ...CASE_NAMES.slice(-1)];
}

/** Whether a drill sent order events too: without them it shows only how `webhook.test` is handled. */
export function sentOrderEvents(steps: readonly Pick<DrillStep, "name">[]): boolean {
  return ORDER_CASE_NAMES.every((name) => steps.some((step) => step.name === name));
}

/** A `webhook.test` event made for a drill: nothing happened, and it is in no list of events. */
export type DrillEvent = { readonly id: string; readonly storeId: string; readonly createdAt: number };

/** An event of an order that the drilled receiver has accepted before. */
type OrderEvent = Pick<CheckoutEvent, "id" | "body">;

/** The result of one case: the receiver's answer, or why there is none. */
export type CaseResult = {
  readonly name: CaseName;
  readonly eventId: string;
  readonly milliseconds: number;
  readonly answer:
    | { readonly status: number; readonly body: string }
    | { readonly error: DeliveryError; readonly message: string };
};

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
export function paymentType({ body }: OrderEvent): OrderType {
  const { type } = JSON.parse(body) as { readonly type: string };
  return type.startsWith("order.") ? "order.succeeded" : "checkout_session.succeeded";
}

/** What an event of another type would say about the order of an event. */
function bodyOfType(
  type: OrderType,
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

/**
 * Each case that must be refused, with the payment of an order for `webhook.test`. What is rightly signed and not of now
 * is the event that was accepted before, because no other is true of the order (decision 67).
 */
function forgedPayments(): Readonly<Record<PaymentName, DrillCase>> {
  const rows = Object.entries<DrillCase>(cases)
    // The bytes of the event are the forgery.
    .filter(([, { expected, signed }]) => expected.startsWith("4xx") && signed === undefined)
    .map(([name, one]) => [
      `payment_${name}`,
      { ...one, what: `of an order: ${one.what}`, event: one.age === undefined ? "payment" : "order" },
    ]);
  return Object.fromEntries(rows) as Record<PaymentName, DrillCase>;
}

/** The case with `webhook.test` that a case of an order repeats; undefined for others. */
export function twinOf(name: CaseName): CaseName | undefined {
  const twin = name.replace(/^payment_/, "");
  return CASE_NAMES.find((one) => one === twin && one !== name);
}

/** A badly signed event of each type. */
function forgedOrders(): Readonly<Record<ForgedName, DrillCase>> {
  const rows = (["order", "checkout_session"] as const).flatMap((object) =>
    STATUSES.map((status): [ForgedName, DrillCase] => [
      `forged_${object}_${status}`,
      {
        what: `a forged ${object}.${status}`,
        expected: "4xx",
        event: `${object}.${status}`,
        signature: wrong,
      },
    ]),
  );
  return Object.fromEntries(rows) as Record<ForgedName, DrillCase>;
}

function same(text: string): string {
  return text;
}

/** Digits that no secret made. */
function wrong(right: string): string {
  return hash("sha256", right, "hex");
}

function withOtherMiddle(right: string): string {
  const { first, last } = RIGHT_ENDS;
  return right.slice(0, first) + otherDigits(right.slice(first, -last)) + right.slice(-last);
}

/** The right signature at one of three places, as during a rotation of secrets (decision 12). */
function placed(at: 0 | 1 | 2): (right: string) => string {
  return (right) => [wrong(right), wrong(wrong(right))].toSpliced(at, 0, right).join(",");
}

/** JSON as Python's json.dumps and others write it. */
function spaced(body: string): string {
  return `{${fieldsOf(body)
    .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
    .join(", ")}}`;
}

/**
 * Valid JSON that no serializer writes: fields in another order, tabs, escapes, characters of 1 to 4 bytes, a final
 * line break.
 */
function unusual(body: string): string {
  const lines = fieldsOf(body)
    .filter(([name]) => name !== "data")
    .toReversed()
    .map(([name, value]) => `\t${JSON.stringify(name)} :${JSON.stringify(value)}`);
  return `{\r\n${[UNUSUAL_DATA, ...lines].join(" ,\n")}\n}\n`;
}

const UNUSUAL_DATA = String.raw`"data": { "note":"Größe, Gr\u00f6\u00dfe, 订单, 🧾, \/", "number" : 1.50e2 }`;

function indented(body: string): string {
  return JSON.stringify(Object.fromEntries(fieldsOf(body)), null, 2);
}

/** One digit of `created_at` changed: it is still an event, with the same event_id. */
function withOtherDigit(body: string): string {
  return body.replace(/\dZ"/, (end) => otherDigits(end.slice(0, 1), 10) + end.slice(1));
}

function fieldsOf(body: string): [string, unknown][] {
  return Object.entries(JSON.parse(body) as object);
}

/** Replaces every digit by another one. */
function otherDigits(digits: string, base = 16): string {
  return digits.replace(/./g, (digit) => (base - 1 - Number.parseInt(digit, base)).toString(base));
}

function neverASecret({ id }: DrillEvent): string {
  return `whsec_${hash("sha256", `never a secret, ${id}`, "base64url")}`;
}
