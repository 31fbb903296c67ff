// The grammar of forms: a genuine event with mutations of its body, timestamp, secret, signature, headers and request.
import { hash } from "node:crypto";
import type { CheckoutEvent } from "../../checkout/event.ts";
import { toIso } from "../../clock.ts";
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
  /** A header of the event, sent as several lines; `now` is the current time, in Unix seconds. */
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

/** A function that makes forms with this expected answer. */
function formExpecting(expected: ExpectedAnswer) {
  return (cause: Form["cause"], mutations: Mutations = {}): Form => ({
    expected,
    ...(cause === undefined ? {} : { cause }),
    ...mutations,
  });
}

/** A form that must be accepted. */
export const genuineForm = formExpecting("2xx");
/** A form that must be refused with 4xx. */
export const forgedForm = formExpecting("4xx");
/** A form that the service never sends: any answer but 2xx is right. */
export const unusualForm = formExpecting("not 2xx");

/** Digits that were not computed with any secret. */
export function wrongDigits(digits: string): string {
  return hash("sha256", digits, "hex");
}

/** Replaces every digit with another digit. */
export function flipDigits(digits: string, base = 16): string {
  return digits.replace(/./g, (digit) => (base - 1 - Number.parseInt(digit, base)).toString(base));
}

type EventFields = Readonly<Record<string, unknown>>;

/** A mutation that gives the body other values of some fields; `change` gets and returns the sandbox's own names. */
export function claim(change: (event: EventFields) => EventFields): NonNullable<Mutations["changeBody"]> {
  return (body, dialect) => {
    const event = readEventIn(dialect, JSON.parse(body), undefined) as EventFields;
    return eventBodyIn(dialect, JSON.stringify({ ...event, ...change(event) }));
  };
}

/** Another id: with other last digits or, if it has no digits, with its last two characters swapped and an x added. */
export function changeEnd(id: string): string {
  const newId = id.replace(/\d+(?=\D*$)/, (digits) => flipDigits(digits, 10));
  return newId === id ? `${id.slice(0, -2)}${Array.from(id.slice(-2)).toReversed().join("")}x` : newId;
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

/** A mutation that makes an event older by a span in milliseconds, as after an outage of the receiver. */
export function backdate(spanMs: number): NonNullable<Mutations["changeBody"]> {
  return claim(({ created_at: at }) =>
    typeof at === "string" ? { created_at: toIso(Date.parse(at) - spanMs) } : {},
  );
}
