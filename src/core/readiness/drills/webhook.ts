import { hash } from "node:crypto";
import type { DeliveryError } from "../../webhook/delivery.ts";
import type { CheckoutEvent } from "../../checkout/event.ts";
import { STATUSES, type CheckoutObject, type Status } from "../../checkout/checkout.ts";
import type { DrillStep } from "../../control/drills.ts";
import type { DrillCause, DrillNote } from "./webhook-advice.ts";
import { STALE_BY_SECONDS } from "../../webhook/tampering.ts";
import { DEFAULT_TOLERANCE_SECONDS, type HEADERS } from "../../webhook/signature.ts";

/** An event type of a checkout. */
type OrderType = CheckoutEvent["type"];

/** How one request of the drill differs from a valid one. Fields that are not set are as in a valid one. */
type CaseRequest = {
  /** What is sent, for people. */
  readonly title: string;
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

/** Why something is taken that must be refused: a cause, or the rule that finds it by the answers to other cases. */
export type WhyTaken = DrillCause | "by_age" | "by_part" | "by_missing_header";

/** One request of the drill, what its answer must be, and what the merchant's code most likely does if it is another. */
type DrillCase = CaseRequest &
  (
    | {
        readonly expected: "2xx";
        /** `by_bytes`: what it does with bytes in an unusual form tells. */
        readonly untaken: DrillCause | "by_bytes";
      }
    | {
        /** `4xx or 5xx`: it must not be accepted; the service never sends it. */
        readonly expected: "4xx" | "4xx or 5xx";
        readonly taken: WhyTaken;
      }
    | {
        /** The interface leaves it open. */
        readonly expected: "2xx or 4xx";
        readonly taken?: WhyTaken;
        /** What is worth knowing of a drill that passes. */
        readonly notes: { readonly taken?: DrillNote; readonly refused?: DrillNote };
      }
  );

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

const cases = {
  good_event: { title: "a good event", expected: "2xx", untaken: "fails_after_check" },
  duplicate: {
    title: "the same event again, signed anew",
    expected: "2xx",
    untaken: "rejects_duplicates",
    event: "first",
  },
  spaced_body: {
    title: "a good event with blanks between its tokens",
    expected: "2xx",
    untaken: "by_bytes",
    signed: spaced,
  },
  unusual_bytes: {
    title: "a good event in unusual bytes",
    expected: "2xx",
    untaken: "by_bytes",
    signed: unusual,
  },
  bad_signature: {
    title: "a signature that no secret made",
    expected: "4xx",
    taken: "verifies_sometimes",
    signature: wrong,
  },
  wrong_secret: {
    title: "signed with another secret",
    expected: "4xx",
    taken: "old_secret",
    secret: "another",
  },
  changed_byte: {
    title: "one byte of the body changed",
    expected: "4xx",
    taken: "body_not_covered",
    sent: withOtherDigit,
  },
  rewritten_body: {
    title: "the same JSON in other white space",
    expected: "4xx",
    taken: "parsed_body",
    sent: indented,
  },
  right_beginning: {
    title: `a signature of which the first ${RIGHT_DIGITS} digits are right`,
    expected: "4xx",
    taken: "by_part",
    signature: (right) => right.slice(0, RIGHT_DIGITS) + otherDigits(right.slice(RIGHT_DIGITS)),
  },
  short_signature: {
    title: `a signature that ends after ${RIGHT_DIGITS} right digits`,
    expected: "4xx",
    taken: "compares_what_came",
    signature: (right) => right.slice(0, RIGHT_DIGITS),
  },
  no_signature: {
    title: "no signature",
    expected: "4xx",
    taken: "by_missing_header",
    without: ["signature"],
  },
  no_event: {
    title: "a body that is no JSON, badly signed",
    expected: "4xx",
    taken: "verifies_sometimes",
    signed: () => "this is no event",
    signature: wrong,
  },
  hour_old: { title: "signed an hour ago", expected: "4xx", taken: "by_age", age: STALE_BY_SECONDS },
  hour_ahead: { title: "signed an hour ahead", expected: "4xx", taken: "by_age", age: -STALE_BY_SECONDS },
  minute_old: { title: "signed a minute ago", expected: "2xx", untaken: "narrow_tolerance", age: MINUTE },
  minute_ahead: {
    title: "signed a minute ahead",
    expected: "2xx",
    untaken: "narrow_tolerance",
    age: -MINUTE,
  },
  within_tolerance_old: {
    title: "signed 4 min 50 s ago",
    expected: "2xx or 4xx",
    notes: { refused: "strict_tolerance" },
    age: WITHIN_TOLERANCE,
  },
  within_tolerance_ahead: {
    title: "signed 4 min 50 s ahead",
    expected: "2xx or 4xx",
    notes: { refused: "strict_tolerance" },
    age: -WITHIN_TOLERANCE,
  },
  beyond_tolerance_old: {
    title: "signed 5 min 30 s ago",
    expected: "2xx or 4xx",
    notes: { taken: "lenient_tolerance" },
    age: BEYOND_TOLERANCE,
  },
  beyond_tolerance_ahead: {
    title: "signed 5 min 30 s ahead",
    expected: "2xx or 4xx",
    notes: { taken: "lenient_tolerance" },
    age: -BEYOND_TOLERANCE,
  },
  ten_minutes_old: { title: "signed 10 minutes ago", expected: "4xx", taken: "by_age", age: TEN_MINUTES },
  ten_minutes_ahead: {
    title: "signed 10 minutes ahead",
    expected: "4xx",
    taken: "by_age",
    age: -TEN_MINUTES,
  },
  no_timestamp: {
    title: "no timestamp",
    expected: "4xx",
    taken: "by_missing_header",
    without: ["timestamp"],
  },
  empty_signature: {
    title: "an empty signature",
    expected: "4xx",
    taken: "takes_empty_signature",
    signature: () => "",
  },
  empty_secret: {
    title: "signed with an empty secret",
    expected: "4xx",
    taken: "takes_empty_secret",
    secret: "empty",
  },
  first_digit: {
    title: "a signature whose first digit is wrong",
    expected: "4xx",
    taken: "by_part",
    signature: (right) => otherDigits(right.slice(0, 1)) + right.slice(1),
  },
  last_digit: {
    title: "a signature whose last digit is wrong",
    expected: "4xx",
    taken: "by_part",
    signature: (right) => right.slice(0, -1) + otherDigits(right.slice(-1)),
  },
  right_ends: {
    title: `a signature of which the first ${RIGHT_ENDS.first} and the last ${RIGHT_ENDS.last} digits are right`,
    expected: "4xx",
    taken: "by_part",
    signature: withOtherMiddle,
  },
  first_of_three: {
    title: "the right signature, first of three",
    expected: "2xx",
    untaken: "one_signature",
    signature: placed(0),
  },
  second_of_three: {
    title: "the right signature, second of three",
    expected: "2xx",
    untaken: "one_signature",
    signature: placed(1),
  },
  third_of_three: {
    title: "the right signature, last of three",
    expected: "2xx",
    untaken: "one_signature",
    signature: placed(2),
  },
  other_event_id: {
    title: "the first event again, under another id in its header",
    expected: "2xx or 4xx",
    taken: "believes_header",
    notes: { taken: "ignores_event_id" },
    event: "first",
    otherEventId: true,
  },
  no_event_id: {
    title: "no event id, badly signed",
    expected: "4xx",
    taken: "by_missing_header",
    without: ["eventId"],
    signature: wrong,
  },
  only_signature: {
    title: "neither event id nor timestamp, badly signed",
    expected: "4xx",
    taken: "by_missing_header",
    without: ["eventId", "timestamp"],
    signature: wrong,
  },
  only_timestamp: {
    title: "neither event id nor signature",
    expected: "4xx",
    taken: "by_missing_header",
    without: ["eventId", "signature"],
  },
  only_event_id: {
    title: "neither timestamp nor signature",
    expected: "4xx",
    taken: "by_missing_header",
    without: ["timestamp", "signature"],
  },
  no_headers: {
    title: "no Checkout header, as curl sends it",
    expected: "4xx",
    taken: "by_missing_header",
    without: ["eventId", "timestamp", "signature"],
    tool: "curl",
  },
  no_headers_form: {
    title: "no Checkout header, as curl -d sends it: as a form",
    expected: "4xx or 5xx",
    taken: "by_missing_header",
    without: ["eventId", "timestamp", "signature"],
    tool: "curl",
    contentType: "application/x-www-form-urlencoded",
  },
  plain_text: {
    title: "badly signed, as plain text",
    expected: "4xx or 5xx",
    taken: "skips_other_types",
    contentType: "text/plain",
    signature: wrong,
  },
  good_at_the_end: { title: "a good event after all that", expected: "2xx", untaken: "shuts_out" },
} as const satisfies Readonly<Record<string, DrillCase>>;

/** What is sent about an order too, with the merchant's consent. */
const orderCases = {
  order_event: {
    title: "an event of an order again, as it was accepted before",
    expected: "2xx",
    untaken: "refuses_orders",
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

/** Whether a drill sent order events too: without them it shows only how `webhook.test` is handled. */
export function sentOrderEvents(steps: readonly Pick<DrillStep, "name">[]): boolean {
  return ORDER_CASE_NAMES.every((name) => steps.some((step) => step.name === name));
}

/** The result of one case: the receiver's answer, or why there is none. */
export type CaseResult = {
  readonly name: CaseName;
  readonly eventId: string;
  readonly milliseconds: number;
  readonly answer:
    | { readonly status: number; readonly body: string }
    | { readonly error: DeliveryError; readonly message: string };
};

/**
 * Each case that must be refused, with the payment of an order for `webhook.test`. What is rightly signed and not of now
 * is the event that was accepted before, because no other is true of the order (decision 67).
 */
function forgedPayments(): Readonly<Record<PaymentName, DrillCase>> {
  const rows = Object.entries<DrillCase>(cases).flatMap(([name, one]): [string, DrillCase][] => {
    // The bytes of the event are the forgery.
    if (one.expected === "2xx" || one.expected === "2xx or 4xx" || one.signed !== undefined) return [];
    const event = one.age === undefined ? "payment" : "order";
    const title = `of an order: ${one.title}`;
    return [[`payment_${name}`, { ...one, title, event, taken: "skips_orders" }]];
  });
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
        title: `a forged ${object}.${status}`,
        expected: "4xx",
        taken: "skips_orders",
        event: `${object}.${status}`,
        signature: wrong,
      },
    ]),
  );
  return Object.fromEntries(rows) as Record<ForgedName, DrillCase>;
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
