import { hash } from "node:crypto";
import type { CheckoutEvent } from "../../checkout/event.ts";
import { toIso } from "../../clock.ts";
import type { Words } from "../../language.ts";
import type { DrillCause, DrillNote } from "./webhook-advice.ts";
import { eventBodyIn, readEventIn, type Dialect } from "../../shape/dialect.ts";
import type { DEFAULT_HEADER_NAMES } from "../../webhook/signature.ts";

export type DrillRequest = {
  readonly method: "POST" | "PUT" | "PATCH";
  readonly suffix: "" | "/" | "?x=1";
  readonly headers: Readonly<Record<string, string>>;
  /** Each header is sent as several lines, one for each value. */
  readonly lines?: Readonly<Record<string, readonly string[]>>;
  readonly body: string | Uint8Array;
  readonly inParts?: true;
};

/** An attacker knows these facts; none of them is secret. */
type PublicTexts = Readonly<Record<"url" | "storeId" | "eventId" | "header", string>>;

type OurHeader = keyof typeof DEFAULT_HEADER_NAMES;

export type Mutations = {
  /**
   * Default: a new event. `first`: the event of the first form. `order`: the order event that the receiver has already
   * accepted. `payment`: a new payment of this order. A type: a new event of that type about the same order.
   */
  readonly event?: "first" | "order" | "payment" | CheckoutEvent["type"];
  readonly acceptedType?: CheckoutEvent["type"];
  /** `changeEvent` changes the event's bytes before they are signed, `changeBody` the signed bytes. */
  readonly changeEvent?: (body: string, dialect: Dialect | undefined) => string;
  readonly changeBody?: (signedBody: string, dialect: Dialect | undefined) => string;
  /** Age of the timestamp, in seconds; negative means in the future. */
  readonly age?: number;
  readonly timestamp?: string;
  readonly omittedNames?: readonly OurHeader[];
  readonly hasOtherId?: true;
  readonly reusesSignature?: true;
  /** An inactive secret, or up to three secrets that an attacker can guess. */
  readonly secret?: "another" | ((knownTexts: PublicTexts) => string | readonly string[]);
  readonly signature?: (digits: string) => string;
  readonly method?: DrillRequest["method"];
  readonly suffix?: DrillRequest["suffix"];
  /** Headers that are replaced in place, added at the end, or, if undefined, removed. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** A header of the event, sent as several lines; `now` is the current time, in Unix seconds. */
  readonly lines?: readonly [header: OurHeader, lines: (value: string, now: string) => readonly string[]];
  readonly renameHeader?: (name: string) => string;
  readonly packBody?: (body: string) => Uint8Array;
  readonly inParts?: true;
  /** Sent over a new connection. Default: over a kept connection, like deliveries. */
  readonly connection?: "fresh";
};

/**
 * `not 2xx`: to requests that the service never sends. `2xx or 4xx`: to requests about which the interface
 * says nothing. `any`: to genuine events in a form that only a proxy makes.
 */
type ExpectedAnswer = "2xx" | "4xx" | "not 2xx" | "2xx or 4xx" | "any";

export type CaseForm = Mutations & {
  readonly expected: ExpectedAnswer;
  /** Default: the cause that the answers to other forms show. */
  readonly cause?: DrillCause;
  readonly notes?: { readonly taken?: DrillNote; readonly refused?: DrillNote };
  readonly title?: Words;
};

function formExpecting(expected: ExpectedAnswer) {
  return (cause: CaseForm["cause"], mutations: Mutations = {}): CaseForm => ({
    expected,
    ...(cause === undefined ? {} : { cause }),
    ...mutations,
  });
}

export const genuineForm = formExpecting("2xx");
export const forgedForm = formExpecting("4xx");
export const unusualForm = formExpecting("not 2xx");

export function wrongDigits(digits: string): string {
  return hash("sha256", digits, "hex");
}

export function flipDigits(digits: string, base = 16): string {
  return digits.replace(/./g, (digit) => (base - 1 - Number.parseInt(digit, base)).toString(base));
}

type EventFields = Readonly<Record<string, unknown>>;

export function changeEventFields(
  change: (event: EventFields) => EventFields,
): NonNullable<Mutations["changeBody"]> {
  return (body, dialect) => {
    const event = readEventIn(dialect, JSON.parse(body), undefined) as EventFields;
    return eventBodyIn(dialect, JSON.stringify({ ...event, ...change(event) }));
  };
}

export function changeIdEnd(id: string): string {
  const newId = id.replace(/\d+(?=\D*$)/, (digits) => flipDigits(digits, 10));
  return newId === id ? `${id.slice(0, -2)}${Array.from(id.slice(-2)).toReversed().join("")}x` : newId;
}

export function changeOrderAndCheckoutId(body: string, dialect: Dialect | undefined): string {
  const { data } = readEventIn(dialect, JSON.parse(body), undefined) as {
    readonly data: { readonly id: string; readonly order_id: string };
  };
  const { id, order_id: orderId } = data;
  return body
    .replaceAll(id, changeIdEnd(id))
    .replaceAll(JSON.stringify(orderId), JSON.stringify(changeIdEnd(orderId)));
}

export function backdate(spanMs: number): NonNullable<Mutations["changeBody"]> {
  return changeEventFields(({ created_at: at }) =>
    typeof at === "string" ? { created_at: toIso(Date.parse(at) - spanMs) } : {},
  );
}
