import { hash } from "node:crypto";
import type { CheckoutEvent } from "../../checkout/event.ts";
import type { Words } from "../../language.ts";
import type { HEADERS } from "../../webhook/signature.ts";
import type { DrillCause, DrillNote } from "./webhook-advice.ts";

/** A request of the drill as it goes out. */
export type DrillRequest = {
  readonly method: "POST" | "PUT" | "PATCH";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The values of a header that is sent as several lines. */
  readonly lines?: Readonly<Record<string, readonly string[]>>;
  readonly body: string | Uint8Array;
};

/** How one request of the drill differs from a valid one. Fields that are not set are as in a valid one. */
type CaseRequest = {
  /**
   * Which event is sent (default: a new one). `first`: that of the first case. `order`: the order event that the
   * receiver has accepted before. `payment`: a new one that says that this order was paid. A type: a new event of that
   * type, about the same order.
   */
  readonly event?: "first" | "order" | "payment" | CheckoutEvent["type"];
  /** Makes the bytes to sign from those of the event. */
  readonly signed?: (body: string) => string;
  /** Makes the bytes to send from those that were signed. */
  readonly sent?: (signed: string) => string;
  /** Age of the timestamp, in seconds; negative means in the future. */
  readonly age?: number;
  /** What is signed and sent in the place of a timestamp. */
  readonly timestamp?: string;
  /** Headers of ours that are not sent. */
  readonly without?: readonly (keyof typeof HEADERS)[];
  /** Whether the event id header is that of another event. */
  readonly otherEventId?: true;
  /** Whether timestamp and signature are those that the first event was sent with. */
  readonly reused?: true;
  /** The secret to sign with instead: one that is not active, or one that anybody can guess. */
  readonly secret?: "another" | ((known: { readonly url: string; readonly storeId: string }) => string);
  /** Makes the signature header from the right signature. */
  readonly signature?: (right: string) => string;
  /** Makes the request to send from one like a delivery's; the timestamp is that of now. */
  readonly how?: (request: DrillRequest, timestamp: string) => DrillRequest;
  /** Over a new connection. Default: over one that was kept, as deliveries are sent. */
  readonly connection?: "fresh";
};

/** What shows why something is taken that must be refused: a cause, `by_part` of the signature, or what is odd in it. */
type WhyTaken =
  | { readonly taken: DrillCause | "by_part" }
  | { readonly without: NonNullable<CaseRequest["without"]> }
  | { readonly age: number };

/** What must be accepted, and why it most likely is not; `by_bytes`: what it does with unusual bytes tells. */
type GoodCase = { readonly expected: "2xx"; readonly untaken: DrillCause | "by_bytes" };
/** What must be refused, or at least not accepted: `not 2xx` is never sent by the service. */
type BadCase = { readonly expected: "4xx" | "not 2xx" } & WhyTaken;
/** What the interface leaves open, and what is worth knowing of it where a drill passes. */
type OpenCase = {
  readonly expected: "2xx or 4xx";
  readonly taken?: DrillCause;
  readonly notes: { readonly taken?: DrillNote; readonly refused?: DrillNote };
};

/** A request of the drill: its title, what its answer must be, and what another answer tells of the merchant's code. */
export type DrillCase = CaseRequest & { readonly title: Words } & (GoodCase | BadCase | OpenCase);

/** A valid request. */
export function good(title: Words, untaken: GoodCase["untaken"], how: CaseRequest = {}) {
  return { title, expected: "2xx", untaken, ...how } as const;
}

/** A request that must be refused in order. */
export function bad(title: Words, how: CaseRequest & WhyTaken) {
  return { title, expected: "4xx", ...how } as const;
}

/** A request that the service never sends: frameworks may fail on it, or close the connection. */
export function odd(title: Words, how: CaseRequest & WhyTaken) {
  return { title, expected: "not 2xx", ...how } as const;
}

/** A request about which the interface says nothing. */
export function open(title: Words, how: CaseRequest & Omit<OpenCase, "expected">) {
  return { title, expected: "2xx or 4xx", ...how } as const;
}

/** Digits that no secret made. */
export function wrong(right: string): string {
  return hash("sha256", right, "hex");
}

/** Replaces every digit by another one. */
export function otherDigits(digits: string, base = 16): string {
  return digits.replace(/./g, (digit) => (base - 1 - Number.parseInt(digit, base)).toString(base));
}

/** The fields of a body, in their order. */
export function fieldsOf(body: string): [string, unknown][] {
  return Object.entries(JSON.parse(body) as object);
}

/** A request with some headers replaced, in their places, added behind, or, where undefined, left out. */
export function withHeaders(
  request: DrillRequest,
  changes: Readonly<Record<string, string | undefined>>,
): DrillRequest {
  const entries = Object.entries({ ...request.headers, ...changes });
  const headers = entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  return { ...request, headers: Object.fromEntries(headers) };
}
