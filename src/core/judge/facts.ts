import type { FinalStatus } from "../checkout/payment.ts";
import type { Status } from "../checkout/checkout.ts";
import type { DeliveryAction } from "../fault/actions.ts";
import type { RequestEntry } from "../request/shapes.ts";
import type { DeliveryEntry } from "../webhook/shapes.ts";
import type { FactName } from "../refusals.ts";
import { showsSecret } from "../text.ts";
import type { ShownOrder } from "./view.ts";
import type { Schedule } from "./schedule.ts";

/** The result of a purchase: an order, a reported failure, or a timeout. */
export type PurchaseResult =
  | { readonly end: "order"; readonly id: string; readonly checkoutUrl: string }
  | { readonly end: "failure"; readonly message: string }
  | { readonly end: "timeout" };

/** An order or session that the run created, in its final state at the service. */
export type RunCheckout = {
  readonly id: string;
  readonly orderId: string;
  readonly amountMinor: number;
  readonly status: Status;
  readonly checkoutUrl: string;
};

/** A logged request of v1. */
type SeenRequest = {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly code: string | null;
  readonly isFaulty: boolean;
};

/** A delivery with its attempts. */
export type ObservedDelivery = {
  readonly eventType: string;
  readonly cause: "event" | "replay" | "duplicate";
  readonly state: "due" | "succeeded" | "failed" | "dropped";
  readonly attempts: readonly { readonly status: number | null; readonly fault: DeliveryAction | null }[];
};

/**
 * The places in which a secret of the application is noticed: a v1 request, except its Authorization header; an answer
 * to a webhook; the output of the purchase; the view of an order. No other places are checked.
 */
export const SECRET_PLACES = ["request", "answer", "output", "view"] as const;
export type SecretPlace = (typeof SECRET_PLACES)[number];

/** All observations of a run of a schedule. */
export type RunFacts = {
  readonly schedule: Schedule;
  /** The checkouts of the run, oldest first. */
  readonly checkouts: readonly RunCheckout[];
  readonly purchase: PurchaseResult;
  /** The result of repeating the purchase without request faults; null unless the purchase failed at first. */
  readonly again: PurchaseResult | null;
  readonly requests: readonly SeenRequest[];
  readonly deliveries: readonly ObservedDelivery[];
  /** The views before the payer acted, soon after a payment, and at the end; null if the view could not be read. */
  readonly before: ShownOrder | null;
  readonly soon: ShownOrder | null;
  readonly last: ShownOrder | null;
  /** The places in which an API key, a signing secret or a token was seen. */
  readonly secretPlaces: ReadonlySet<SecretPlace>;
  /** Whether the application failed to restart after it was killed. */
  readonly isDown: boolean;
};

/** The logged requests of a run's store, in the form used for judging. */
export function observedRequests(requests: readonly RequestEntry[]): readonly SeenRequest[] {
  return requests.map(({ method, path, status, code, fault }) => ({
    method,
    path,
    status,
    code,
    isFaulty: fault !== null,
  }));
}

/** Whether a request contains a secret: the service refuses one in a body or a key; in a path, a mark replaces it. */
export function isRequestWithSecret({ path, fact }: RequestEntry): boolean {
  return showsSecret(path) || SECRET_FACTS.has(fact);
}

const SECRET_FACTS: ReadonlySet<string | null> = new Set<FactName>([
  "key_with_secret",
  "field_with_secret",
  "field_with_token",
]);

/** Whether an answer to a delivery contains a secret; the audit replaces the secret with a mark. */
export function isAnsweredWithSecret({ attempts }: DeliveryEntry): boolean {
  return attempts.some(({ answer }) => answer !== null && showsSecret(answer));
}

/** The timeline of a run without an order: a line for each request. */
export function requestLines({ requests }: Pick<RunFacts, "requests">): readonly string[] {
  return requests.map(({ method, path, status }) => `${method} ${path}: ${status}`);
}

/** Whether an event type means that a checkout was paid. */
export function isPaymentEvent(eventType: string): boolean {
  return eventType.endsWith(`.${"succeeded" satisfies FinalStatus}`);
}

/** The checkout that the client of a run received, otherwise the run's first checkout. */
export function checkoutOfRun({ checkouts, purchase, again }: RunFacts): RunCheckout | undefined {
  const ids = new Set([again, purchase].map((end) => (end?.end === "order" ? end.id : undefined)));
  return checkouts.find(({ id }) => ids.has(id)) ?? checkouts[0];
}
