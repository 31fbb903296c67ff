import { hash } from "node:crypto";
import type { CheckoutEvent } from "../../checkout/event.ts";
import type { Words } from "../../language.ts";
import type { DEFAULT_HEADER_NAMES } from "../../webhook/signature.ts";
import type { DrillCause, DrillNote } from "./webhook-advice.ts";

/** A request of the drill as sent. */
export type DrillRequest = {
  readonly method: "POST" | "PUT" | "PATCH";
  /** Added to the address of the endpoint. */
  readonly suffix: "" | "/" | "?x=1";
  readonly headers: Readonly<Record<string, string>>;
  /** Headers that are sent as several lines, with the value of each line. */
  readonly lines?: Readonly<Record<string, readonly string[]>>;
  readonly body: string | Uint8Array;
};

/** The differences between a drill's request and a valid request. */
type CaseRequest = {
  /**
   * The event to send (default: a new one). `first`: the event of the first case. `order`: the order event that the
   * receiver has already accepted. `payment`: a new event that says that this order was paid. A type: a new event of
   * that type, about the same order.
   */
  readonly event?: "first" | "order" | "payment" | CheckoutEvent["type"];
  /** The type of an already accepted event to send instead. */
  readonly accepted?: CheckoutEvent["type"];
  /** Changes the event's bytes before they are signed. */
  readonly signed?: (body: string) => string;
  /** Changes the signed bytes before they are sent. */
  readonly sent?: (signed: string) => string;
  /** Age of the timestamp, in seconds; negative means in the future. */
  readonly age?: number;
  /** The text that is signed and sent instead of a timestamp. */
  readonly timestamp?: string;
  /** The Checkout headers to omit. */
  readonly without?: readonly (keyof typeof DEFAULT_HEADER_NAMES)[];
  /** Whether the event id header contains another event's id. */
  readonly otherEventId?: true;
  /** Whether timestamp and signature are copied from the first event. */
  readonly reused?: true;
  /** The secret to sign with instead: an inactive secret, or a secret that an attacker can guess. */
  readonly secret?: "another" | ((known: { readonly url: string; readonly storeId: string }) => string);
  /** Derives the signature header from the correct signature. */
  readonly signature?: (right: string) => string;
  /** Changes a request that has the form of a delivery; `timestamp` is the current time, in Unix seconds. */
  readonly how?: (request: DrillRequest, timestamp: string) => DrillRequest;
  /** `fresh`: sent over a new connection. Default: over a kept connection, like deliveries. */
  readonly connection?: "fresh";
};

/**
 * The source of the cause if a request that must be refused is accepted: a fixed cause, the part of the signature that
 * is compared (`by_part`), or the difference in the request.
 */
type WhyTaken =
  | { readonly taken: DrillCause | "by_part" }
  | { readonly without: NonNullable<CaseRequest["without"]> }
  | { readonly age: number };

/**
 * A request that must be accepted, and the likely cause if it is not. `by_bytes`: the results of the cases with
 * unusual bytes show the cause.
 */
type GoodCase = { readonly expected: "2xx"; readonly untaken: DrillCause | "by_bytes" };
/** A request that must be refused, or at least not accepted: `not 2xx` is for requests that the service never sends. */
type BadCase = { readonly expected: "4xx" | "not 2xx" } & WhyTaken;
/** A request about which the interface says nothing, and the note about its answer if the drill passes. */
type OpenCase = {
  readonly expected: "2xx or 4xx";
  readonly taken?: DrillCause;
  readonly notes: { readonly taken?: DrillNote; readonly refused?: DrillNote };
};

/** A request of the drill: its title, the expected answer, and the cause of any other answer. */
export type DrillCase = CaseRequest & { readonly title: Words } & (GoodCase | BadCase | OpenCase);

/** A valid request. */
export function goodCase(title: Words, untaken: GoodCase["untaken"], how: CaseRequest = {}) {
  return { title, expected: "2xx", untaken, ...how } as const;
}

/** A well-formed request that must be refused. */
export function badCase(title: Words, how: CaseRequest & WhyTaken) {
  return { title, expected: "4xx", ...how } as const;
}

/** A request that the service never sends: frameworks may fail on it, or close the connection. */
export function oddCase(title: Words, how: CaseRequest & WhyTaken) {
  return { title, expected: "not 2xx", ...how } as const;
}

/** A request about which the interface says nothing. */
export function unspecifiedCase(title: Words, how: CaseRequest & Omit<OpenCase, "expected">) {
  return { title, expected: "2xx or 4xx", ...how } as const;
}

/** Digits that were not computed with any secret. */
export function wrongDigits(right: string): string {
  return hash("sha256", right, "hex");
}

/** Replaces every digit with another digit. */
export function flipDigits(digits: string, base = 16): string {
  return digits.replace(/./g, (digit) => (base - 1 - Number.parseInt(digit, base)).toString(base));
}

/** The fields of a body, in their order. */
export function fieldsOf(body: string): [string, unknown][] {
  return Object.entries(JSON.parse(body) as object);
}

/** A request with some headers replaced in place, added at the end, or, if undefined, removed. */
export function replaceHeaders(
  request: DrillRequest,
  changes: Readonly<Record<string, string | undefined>>,
): DrillRequest {
  const entries = Object.entries({ ...request.headers, ...changes });
  const headers = entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  return { ...request, headers: Object.fromEntries(headers) };
}
