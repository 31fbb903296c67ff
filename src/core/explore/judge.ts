import {
  checkoutOfRun,
  isPaymentEvent,
  SECRET_PLACES,
  type RunCheckout,
  type RunFacts,
  type ObservedDelivery,
} from "../judge/facts.ts";
import { isForgery } from "../fault/actions.ts";
import { isKill } from "../judge/schedule.ts";
import type { ExploreCause, Invariant } from "../readiness/drills/invariants.ts";

/** The verdict of a run on an invariant; an invariant without a verdict is not judged. */
type Verdict =
  | { readonly invariant: Invariant; readonly held: true }
  | { readonly invariant: Invariant; readonly held: false; readonly cause: ExploreCause };

/** The verdicts of a run, and whether the payment's event was lost for good. */
export type Judgement = { readonly verdicts: readonly Verdict[]; readonly isDropped: boolean };

/** Judges the facts of a run. */
export function judgeRun(facts: RunFacts): Judgement {
  const checkout = checkoutOfRun(facts);
  const ofView = checkout === undefined ? [] : viewVerdicts(facts, checkout);
  const isDropped = checkout !== undefined && isDroppedForGood(facts, checkout);
  return { verdicts: [...clientVerdicts(facts), ...ofView, secretVerdict(facts)], isDropped };
}

/** Whether a later reading of the view can change the judgement: a booking may still appear, but does not disappear. */
export function canImprove({ verdicts, isDropped }: Judgement): boolean {
  return (
    isDropped ||
    verdicts.some(
      ({ invariant, held }) => !held && (invariant === "booked_when_paid" || invariant === "final_stays"),
    )
  );
}

/** The broken verdicts of a judgement. */
export function brokenVerdicts({
  verdicts,
}: Judgement): readonly Extract<Verdict, { readonly held: false }>[] {
  return verdicts.filter((verdict) => !verdict.held);
}

function clientVerdicts({ purchase, again, checkouts, requests }: RunFacts): readonly Verdict[] {
  const [first, ...others] = checkouts;
  const verdicts: Verdict[] = [];
  if (first !== undefined) {
    const isSameOrder = others.every(({ orderId }) => orderId === first.orderId);
    const cause = isSameOrder ? "order_again" : "new_order_id";
    verdicts.push(verdictOf("one_order", others.length === 0 ? null : cause));
  }
  const ends = [purchase, again].filter((end) => end !== null);
  const isTrue = ends.every(
    (end) =>
      end.end !== "order" ||
      checkouts.some(({ id, checkoutUrl }) => id === end.id && checkoutUrl === end.checkoutUrl),
  );
  const isEnded = ends.every(({ end }) => end !== "timeout");
  verdicts.push(verdictOf("client_ends", isEnded ? (isTrue ? null : "claims_success") : "never_ends"));
  if (again !== null && again.end !== "timeout" && others.length === 0) {
    const code = requests.findLast(({ isFaulty }) => !isFaulty)?.code;
    const cause =
      code === "order_conflict"
        ? "new_key"
        : code === "idempotency_key_reused"
          ? "other_body"
          : "no_recovery";
    verdicts.push(verdictOf("recovery", again.end === "order" ? null : cause));
  }
  return verdicts;
}

function secretVerdict({ secretPlaces }: RunFacts): Verdict {
  const place = SECRET_PLACES.find((one) => secretPlaces.has(one));
  return verdictOf("secrets_kept", place === undefined ? null : `secret_in_${place}`);
}

function viewVerdicts(facts: RunFacts, checkout: RunCheckout): readonly Verdict[] {
  const { before, soon, last } = facts;
  const verdicts: Verdict[] = [];
  const isPaid = checkout.status === "succeeded";
  if (before !== null || (last !== null && !isPaid)) {
    const isEarly = before?.paid === true;
    const isWrong = last?.paid === true && !isPaid;
    verdicts.push(
      verdictOf("never_unpaid", isEarly ? "books_unpaid" : isWrong ? unpaidCause(checkout) : null),
    );
  }
  if (isPaid && facts.isDown) return verdicts.concat(verdictOf("booked_when_paid", "not_restarted"));
  if (last === null) return verdicts;
  if (last.times !== null)
    verdicts.push(verdictOf("booked_once", last.times > 1 ? moreThanOnceCause(facts) : null));
  if (last.paid && last.amountMinor !== null) {
    const isForged = facts.schedule.faults.some(({ action }) => action === "changed_body");
    const isRight = last.amountMinor === checkout.amountMinor;
    verdicts.push(verdictOf("right_amount", isRight ? null : isForged ? "believes_forged" : "other_amount"));
  }
  if (!isPaid) return verdicts;
  const wasPaid = soon?.paid === true;
  if (wasPaid) verdicts.push(verdictOf("final_stays", last.paid ? null : "goes_back"));
  if (last.paid) verdicts.push(verdictOf("booked_when_paid", null));
  else if (!wasPaid && !isDroppedForGood(facts, checkout)) {
    const cause = notBookedCause(facts);
    verdicts.push(verdictOf(cause === "goes_back" ? "final_stays" : "booked_when_paid", cause));
  }
  return verdicts;
}

function verdictOf(invariant: Invariant, cause: ExploreCause | null): Verdict {
  return cause === null ? { invariant, held: true } : { invariant, held: false, cause };
}

function unpaidCause({ status }: RunCheckout): ExploreCause {
  switch (status) {
    case "failed":
      return "books_failed";
    case "cancelled":
      return "books_cancelled";
    case "expired":
      return "books_expired";
    case "created":
    case "pending":
    case "succeeded":
      return "books_unpaid";
  }
}

function paymentsOf({ deliveries }: RunFacts): readonly ObservedDelivery[] {
  return deliveries.filter(({ eventType }) => isPaymentEvent(eventType));
}

function moreThanOnceCause(facts: RunFacts): ExploreCause {
  const attempts = paymentsOf(facts).reduce((sum, delivery) => sum + delivery.attempts.length, 0);
  if (attempts > 1) return "books_again";
  return facts.schedule.faults.some(({ action }) => isKill(action)) ? "books_at_start" : "books_other_events";
}

/** Whether the order was paid, but every delivery that would have reported it was dropped. */
function isDroppedForGood(facts: RunFacts, { status }: RunCheckout): boolean {
  const payments = paymentsOf(facts);
  return (
    status === "succeeded" &&
    facts.last?.paid === false &&
    payments.length > 0 &&
    payments.every(({ state }) => state === "dropped")
  );
}

function notBookedCause(facts: RunFacts): ExploreCause {
  const payments = paymentsOf(facts);
  if (payments.length === 0) return "not_told";
  const accepted = payments.flatMap(({ attempts }) => attempts.filter(({ status }) => isSuccess(status)));
  if (accepted.length === 0) return "refuses_payment";
  if (accepted.every(({ fault }) => fault !== null && isForgery(fault))) return "accepts_forged";
  const actions = facts.schedule.faults.map(({ action }) => action);
  if (actions.includes("duplicate")) return "goes_back";
  return actions.some((action) => LATE_ACTIONS.has(action)) ? "lost_early" : "acknowledged_only";
}

const LATE_ACTIONS: ReadonlySet<string> = new Set(["reorder", "delay", "drop"]);

function isSuccess(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}
