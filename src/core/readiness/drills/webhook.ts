import { hash } from "node:crypto";
import type { DeliveryError } from "../../webhook/delivery.ts";
import { recordTestEvent } from "../../checkout/event.ts";
import { STALE_BY_SECONDS } from "../../webhook/fault.ts";
import { HEADERS, signatureOf } from "../../webhook/signature.ts";

/** How one request of the drill differs from a valid one. Fields that are not set are as in a valid one. */
type DrillCase = {
  /** What is sent, for people. */
  readonly what: string;
  /** `2xx`: it must be accepted. `4xx`: it must be refused. */
  readonly expected: "2xx" | "4xx";
  /** Whether it repeats the event of the first case. */
  readonly again?: true;
  /** Makes the bytes to sign from those of the event. */
  readonly signed?: (body: string) => string;
  /** Makes the bytes to send from those that were signed. */
  readonly sent?: (signed: string) => string;
  /** Age of the timestamp, in seconds; negative means in the future. */
  readonly age?: number;
  /** Whether it is signed with a secret that is not active. */
  readonly otherSecret?: true;
  /** Makes the signature to send from the right one; undefined sends none. */
  readonly signature?: (right: string) => string | undefined;
};

/** How many digits are right in a signature of which only the beginning is right: half of them. */
const RIGHT_DIGITS = 32;

/** After this many requests without an answer the rest is not sent. */
const MAX_UNANSWERED = 3;

const cases = {
  good_event: { what: "a good event", expected: "2xx" },
  duplicate: { what: "the same event again, signed anew", expected: "2xx", again: true },
  spaced_body: { what: "a good event with blanks between its tokens", expected: "2xx", signed: spaced },
  unusual_bytes: { what: "a good event in unusual bytes", expected: "2xx", signed: unusual },
  bad_signature: {
    what: "a signature that no secret made",
    expected: "4xx",
    signature: (right) => hash("sha256", right, "hex"),
  },
  wrong_secret: { what: "signed with another secret", expected: "4xx", otherSecret: true },
  changed_byte: { what: "one byte of the body changed", expected: "4xx", sent: withOtherDigit },
  rewritten_body: { what: "the same JSON in other white space", expected: "4xx", sent: indented },
  right_beginning: {
    what: `a signature of which ${RIGHT_DIGITS} digits are right`,
    expected: "4xx",
    signature: (right) => right.slice(0, RIGHT_DIGITS) + otherDigits(right.slice(RIGHT_DIGITS)),
  },
  short_signature: {
    what: `a signature that ends after ${RIGHT_DIGITS} right digits`,
    expected: "4xx",
    signature: (right) => right.slice(0, RIGHT_DIGITS),
  },
  no_signature: { what: "no signature", expected: "4xx", signature: () => undefined },
  no_event: {
    what: "a body that is no JSON, badly signed",
    expected: "4xx",
    signed: () => "this is no event",
    signature: (right) => hash("sha256", right, "hex"),
  },
  hour_old: { what: "signed an hour ago", expected: "4xx", age: STALE_BY_SECONDS },
  hour_ahead: { what: "signed an hour ahead", expected: "4xx", age: -STALE_BY_SECONDS },
  good_at_the_end: { what: "a good event after all that", expected: "2xx" },
} as const satisfies Readonly<Record<string, DrillCase>>;

/** The name of a case. */
export type CaseName = keyof typeof cases;

/** What the webhook drill sends (decision 50), in this order. */
export const DRILL_CASES: Readonly<Record<CaseName, DrillCase>> = cases;

/** The names of all cases, in the order in which they are sent. */
export const CASE_NAMES = Object.keys(cases) as readonly CaseName[];

/** A `webhook.test` event made for a drill: nothing happened, and it is in no list of events. */
export type DrillEvent = { readonly id: string; readonly storeId: string; readonly createdAt: number };

/** The result of one case: the receiver's answer, or why there is none. */
export type CaseResult = {
  readonly name: CaseName;
  readonly eventId: string;
  readonly milliseconds: number;
  readonly answer:
    | { readonly status: number; readonly said: string }
    | { readonly error: DeliveryError; readonly message: string };
};

/** The secrets to sign with, and the time. */
export type DrillKeys = {
  readonly secret: string;
  /** A secret that was rotated out; undefined if there is none. */
  readonly retiredSecret: string | undefined;
  /** Real time, in milliseconds: receivers compare it with theirs (decision 18). */
  readonly realNow: number;
};

/** The request of a case, byte for byte. `first` is the event of the first case. */
export function drillRequest(
  name: CaseName,
  events: { readonly own: DrillEvent; readonly first: DrillEvent },
  keys: DrillKeys,
): { readonly eventId: string; readonly headers: Readonly<Record<string, string>>; readonly body: string } {
  const { again, signed = same, sent = same, age = 0, otherSecret, signature = same } = DRILL_CASES[name];
  const event = again === true ? events.first : events.own;
  const body = signed(recordTestEvent(event, event.createdAt).body);
  const timestamp = String(Math.floor(keys.realNow / 1000) - age);
  const secret = otherSecret === true ? (keys.retiredSecret ?? neverASecret(event)) : keys.secret;
  const shown = signature(signatureOf(secret, { timestamp, rawBody: Buffer.from(body) }));
  const headers = {
    "Content-Type": "application/json",
    "User-Agent": "checkout-sandbox",
    [HEADERS.eventId]: event.id,
    [HEADERS.timestamp]: timestamp,
    ...(shown === undefined ? {} : { [HEADERS.signature]: shown }),
  };
  return { eventId: event.id, headers, body: sent(body) };
}

/** Whether to send the next case: not if the valid event got no answer, nor after too many requests without one. */
export function goesOn(results: readonly CaseResult[]): boolean {
  const unanswered = results.filter(({ answer }) => "error" in answer);
  return unanswered.length < MAX_UNANSWERED && unanswered.every(({ name }) => name !== "good_event");
}

function same(text: string): string {
  return text;
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
