// The grammar of forms: a genuine event with mutations of its body, timestamp, secret, signature, headers and request.
import { hash } from "node:crypto";
import type { CheckoutEvent } from "../../checkout/event.ts";
import { toIso } from "../../clock.ts";
import { isRecord } from "../../json.ts";
import type { Words } from "../../language.ts";
import type { DrillCause, DrillNote } from "./webhook-advice.ts";
import { eventBodyIn, readEventIn, type Dialect } from "../../shape/dialect.ts";
import type { DEFAULT_HEADER_NAMES } from "../../webhook/signature.ts";

export type DrillRequest = {
  readonly method: "POST" | "PUT" | "PATCH";
  /** Added to the address of the endpoint. */
  readonly suffix: "" | "/" | "?x=1";
  readonly headers: Readonly<Record<string, string>>;
  /** Headers that are sent as several lines, with the value of each line. */
  readonly lines?: Readonly<Record<string, readonly string[]>>;
  readonly body: string | Uint8Array;
  /** Whether the body is sent in two parts, with a pause between them. */
  readonly inParts?: true;
};

/** Facts about a receiver and a request that an attacker knows: none of them is secret. */
type PublicTexts = Readonly<Record<"url" | "storeId" | "eventId" | "header", string>>;

type OurHeader = keyof typeof DEFAULT_HEADER_NAMES;

/** The differences between a form and a genuine request. */
export type Mutations = {
  /**
   * The event to send (default: a new one). `first`: the event of the first form. `order`: the order event that the
   * receiver has already accepted. `payment`: a new event that says that this order was paid. A type: a new event of
   * that type, about the same order.
   */
  readonly event?: "first" | "order" | "payment" | CheckoutEvent["type"];
  /** The type of an already accepted event to send instead. */
  readonly acceptedType?: CheckoutEvent["type"];
  /** `changeEvent` changes the event's bytes before they are signed, `changeBody` the signed bytes. */
  readonly changeEvent?: (body: string, dialect: Dialect | undefined) => string;
  readonly changeBody?: (signedBody: string, dialect: Dialect | undefined) => string;
  /** Age of the timestamp, in seconds; negative means in the future. */
  readonly age?: number;
  /** The text that is signed and sent instead of a timestamp. */
  readonly timestamp?: string;
  readonly omittedNames?: readonly OurHeader[];
  /** Whether the event id header contains another event's id. */
  readonly hasOtherId?: true;
  /** Whether timestamp and signature are copied from the first event. */
  readonly reusesSignature?: true;
  /** The secret to sign with instead: an inactive secret, or up to three secrets that an attacker can guess. */
  readonly secret?: "another" | ((knownTexts: PublicTexts) => string | readonly string[]);
  /** Derives the signature header from the correct signature. */
  readonly signature?: (digits: string) => string;
  readonly method?: DrillRequest["method"];
  readonly suffix?: DrillRequest["suffix"];
  /** Headers that are replaced in place, added at the end, or, if undefined, removed. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** One of our headers, sent as several lines; `now` is the current time, in Unix seconds. */
  readonly lines?: readonly [header: OurHeader, lines: (value: string, now: string) => readonly string[]];
  /** Changes the names of all headers. */
  readonly renameHeader?: (name: string) => string;
  readonly packBody?: (body: string) => Uint8Array;
  readonly inParts?: true;
  /** Sent over a new connection. Default: over a kept connection, like deliveries. */
  readonly connection?: "fresh";
};

/**
 * The expected answer. `not 2xx`: to requests that the service never sends. `2xx or 4xx`: to requests about which the
 * interface says nothing. `any`: to genuine events in a form that only a proxy makes, and that a receiver may not read.
 */
type ExpectedAnswer = "2xx" | "4xx" | "not 2xx" | "2xx or 4xx" | "any";

/** A form: its mutations, the expected answer, and the likely cause of another answer. */
export type Form = Mutations & {
  readonly expected: ExpectedAnswer;
  /** The cause if no leaf of core/judge/forms/leaves.ts names another cause. */
  readonly cause?: DrillCause;
  /** Notes about an answer that the interface leaves open. */
  readonly notes?: { readonly taken?: DrillNote; readonly refused?: DrillNote };
  /** The title, if it follows from the mutations; other titles are in webhook.ts. */
  readonly title?: Words;
};

/** A form that must be accepted. */
export function genuineForm(cause: Form["cause"], mutations: Mutations = {}): Form {
  return { expected: "2xx", ...(cause === undefined ? {} : { cause }), ...mutations };
}

/** A well-formed form that must be refused. */
export function forgedForm(cause: Form["cause"], mutations: Mutations): Form {
  return { ...genuineForm(cause, mutations), expected: "4xx" };
}

/** A form that the service never sends. */
export function unusualForm(cause: DrillCause, mutations: Mutations): Form {
  return { ...genuineForm(cause, mutations), expected: "not 2xx" };
}

/** A form with a wrong signature that a receiver may trust because of how it is sent. */
export function badlySignedForm(cause: DrillCause, mutations: Mutations): Form {
  return unusualForm(cause, { signature: wrongDigits, ...mutations });
}

/** A form about which the interface says nothing. */
export function unstatedForm(notes: NonNullable<Form["notes"]>, mutations: Mutations): Form {
  return { expected: "2xx or 4xx", notes, ...mutations };
}

/** Digits that were not computed with any secret. */
export function wrongDigits(digits: string): string {
  return hash("sha256", digits, "hex");
}

/** Replaces every digit with another digit. */
export function flipDigits(digits: string, base = 16): string {
  return digits.replace(/./g, (digit) => (base - 1 - Number.parseInt(digit, base)).toString(base));
}

type EventFields = Readonly<Record<string, unknown>>;

function fieldsOf(body: string): [string, unknown][] {
  return Object.entries(JSON.parse(body) as object);
}

/** A mutation that gives the body other values of some fields; `change` reads and returns our names. */
export function claim(change: (event: EventFields) => EventFields): NonNullable<Mutations["changeBody"]> {
  return (body, dialect) => {
    const event = readEventIn(dialect, JSON.parse(body), undefined) as EventFields;
    return eventBodyIn(dialect, JSON.stringify({ ...event, ...change(event) }));
  };
}

/** Another id: with other last digits or, if it has no digits, with its last two characters swapped and an x added. */
function changeEnd(id: string): string {
  const newId = id.replace(/\d+(?=\D*$)/, (digits) => flipDigits(digits, 10));
  return newId === id ? `${id.slice(0, -2)}${Array.from(id.slice(-2)).toReversed().join("")}x` : newId;
}

/** Number of correct digits at both ends of a signature with a wrong middle. */
export const CORRECT_DIGIT_COUNTS = { first: 40, last: 8 } as const;

export function claimOtherStore({ store_id: id }: EventFields): EventFields {
  return { store_id: changeEnd(String(id)) };
}

export function claimLivemode({ data }: EventFields): EventFields {
  return {
    livemode: true,
    data: isRecord(data) && "livemode" in data ? { ...data, livemode: true } : data,
  };
}

export function changeOrder(body: string, dialect: Dialect | undefined): string {
  const { data } = readEventIn(dialect, JSON.parse(body), undefined) as {
    readonly data: { readonly id: string; readonly order_id: string };
  };
  const { id, order_id: orderId } = data;
  return body
    .replaceAll(id, changeEnd(id))
    .replaceAll(JSON.stringify(orderId), JSON.stringify(changeEnd(orderId)));
}

export function changeMiddle(digits: string): string {
  const { first, last } = CORRECT_DIGIT_COUNTS;
  return digits.slice(0, first) + flipDigits(digits.slice(first, -last)) + digits.slice(-last);
}

/** A function that changes every other digit, from the first or the second on. */
export function changeEveryOther(position: "first" | "second"): (digits: string) => string {
  return (digits) =>
    digits.replace(/(.)(.)/g, (_, firstDigit: string, secondDigit: string) =>
      position === "first" ? flipDigits(firstDigit) + secondDigit : firstDigit + flipDigits(secondDigit),
    );
}

/** The correct signature at one of three positions, as during a rotation of secrets (decision 12). */
export function placeSignature(position: 0 | 1 | 2): (digits: string) => string {
  return (digits) =>
    [wrongDigits(digits), wrongDigits(wrongDigits(digits))].toSpliced(position, 0, digits).join(",");
}

/** JSON with spaces between its tokens, as Python's json.dumps writes it. */
export function addSpaces(body: string): string {
  return `{${fieldsOf(body)
    .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
    .join(", ")}}`;
}

/** Fields in another order, tabs, escapes, characters of 1 to 4 bytes, a trailing line break. */
export function writeUnusually(body: string, dialect: Dialect | undefined): string {
  const dataField = dialect?.event_fields?.["data"] ?? "data";
  const lines = fieldsOf(body)
    .filter(([name]) => name !== dataField)
    .toReversed()
    .map(([name, value]) => `\t${JSON.stringify(name)} :${JSON.stringify(value)}`);
  return `{\r\n${[`${JSON.stringify(dataField)}: ${UNUSUAL_DATA}`, ...lines].join(" ,\n")}\n}\n`;
}

const UNUSUAL_DATA = String.raw`{ "note":"Größe, Gr\u00f6\u00dfe, 订单, 🧾, \/", "number" : 1.50e2 }`;

export function indentBody(body: string): string {
  return JSON.stringify(Object.fromEntries(fieldsOf(body)), null, 2);
}

/** A mutation that makes an event older by a span in milliseconds, as after an outage of the receiver. */
export function backdate(spanMs: number): NonNullable<Mutations["changeBody"]> {
  return claim(({ created_at: at }) =>
    typeof at === "string" ? { created_at: toIso(Date.parse(at) - spanMs) } : {},
  );
}

/** Changes one digit of a time or number, so that the body is still an event; without such a digit, adds a space. */
export function changeDigit(body: string): string {
  const changedBody = body.replace(/\d(?=Z"|,")/, (digit) => flipDigits(digit, 10));
  return changedBody === body ? `${body} ` : changedBody;
}
