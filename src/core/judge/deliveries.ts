import { isSuccessStatus } from "../webhook/delivery.ts";
import type { FinalStatus } from "../checkout/payment.ts";
import { isForgeryAction } from "../fault/actions.ts";
import type { StepValue } from "../readiness/drill-shapes.ts";
import type { Cause } from "../readiness/drills/judge-causes.ts";
import { factOf } from "../readiness/drills/said.ts";
import type { Observation, ObservedAttempt, ObservedDelivery } from "./observation.ts";

function isPaymentEvent(eventType: string): boolean {
  return eventType.endsWith(`.${"succeeded" satisfies FinalStatus}`);
}

function isGenuine({ fault }: ObservedAttempt): boolean {
  return fault === null || !isForgeryAction(fault);
}

function paymentDeliveries(deliveries: readonly ObservedDelivery[]): readonly ObservedDelivery[] {
  return deliveries.filter(({ eventType }) => isPaymentEvent(eventType));
}

function acceptedAttempts(deliveries: readonly ObservedDelivery[]): readonly ObservedAttempt[] {
  return deliveries.flatMap(({ attempts }) => attempts.filter(({ status }) => isSuccessStatus(status)));
}

/** Returns true if the shop accepted the payment event, or gets no events and so must ask the API. */
export function mustShopKnow(deliveries: readonly ObservedDelivery[]): boolean {
  const payments = paymentDeliveries(deliveries);
  return payments.length === 0 || acceptedAttempts(payments).length > 0;
}

export function isPaymentDropped(deliveries: readonly ObservedDelivery[]): boolean {
  const payments = paymentDeliveries(deliveries);
  return payments.length > 0 && payments.every(({ state }) => state === "dropped");
}

export function answersIn(deliveries: readonly ObservedDelivery[]): readonly Observation[] {
  return deliveries.flatMap(({ eventType: type, state, attempts }): readonly Observation[] => {
    const forgedFacts = attempts
      .filter((attempt) => !isGenuine(attempt) && attempt.status !== null)
      .map((attempt) => ({
        kind: "forged" as const,
        isAccepted: isSuccessStatus(attempt.status),
        got: answerValue(attempt),
      }));
    if (state === "succeeded") return [{ kind: "taken" }, ...forgedFacts];
    if (state !== "failed") return forgedFacts;
    const cause = isPaymentEvent(type) ? "refuses_payment" : "refuses_event";
    const got = answerValue(attempts.at(-1));
    return [{ kind: "refused", type, got, isForeign: false, cause }, ...forgedFacts];
  });
}

function answerValue(attempt: ObservedAttempt | undefined): StepValue {
  const { status = null } = attempt ?? {};
  return status === null ? factOf("no_answer") : String(status);
}

export function repeatCause(deliveries: readonly ObservedDelivery[], isKilled: boolean): Cause {
  const paymentAttempts = paymentDeliveries(deliveries).flatMap(({ attempts }) => attempts);
  if (paymentAttempts.length > 1) return "books_again";
  return isKilled ? "books_at_start" : "books_other_events";
}

export function amountCause(deliveries: readonly ObservedDelivery[]): Cause {
  const isForgeryAccepted = acceptedAttempts(deliveries).some(({ fault }) => fault === "changed_body");
  return isForgeryAccepted ? "believes_forged" : "other_amount";
}

export function lossCause(deliveries: readonly ObservedDelivery[]): Cause {
  const payments = paymentDeliveries(deliveries);
  if (payments.length === 0) return "not_told";
  const acceptedAt = firstAcceptedAt(payments);
  if (acceptedAt === Number.POSITIVE_INFINITY) return "accepts_forged";
  const isPaymentEarly = otherDeliveries(deliveries).some(
    (delivery) => delivery.cause === "event" && firstAcceptedAt([delivery]) > acceptedAt,
  );
  return isPaymentEarly ? "lost_early" : (overwriteCause(deliveries) ?? "acknowledged_only");
}

export function overwriteCause(deliveries: readonly ObservedDelivery[]): Cause | undefined {
  const acceptedAt = firstAcceptedAt(paymentDeliveries(deliveries));
  // After a clock move, a copy of an event can have the same time as the payment that it follows.
  const hasLaterEvent = otherDeliveries(deliveries).some(({ cause, attempts }) =>
    attempts.some(
      ({ status, startedAt }) =>
        isSuccessStatus(status) && (cause === "event" ? startedAt > acceptedAt : startedAt >= acceptedAt),
    ),
  );
  return hasLaterEvent ? "goes_back" : undefined;
}

function otherDeliveries(deliveries: readonly ObservedDelivery[]): readonly ObservedDelivery[] {
  return deliveries.filter(({ eventType }) => !isPaymentEvent(eventType));
}

function firstAcceptedAt(deliveries: readonly ObservedDelivery[]): number {
  return Math.min(
    ...acceptedAttempts(deliveries)
      .filter(isGenuine)
      .map(({ startedAt }) => startedAt),
  );
}
