import type { Checkout, Status } from "./checkout.ts";
import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import type { Attempt, LateResult } from "./shapes.ts";

/** `pending` to `pending`: an attempt was declined, or the payer starts another one. */
export const TRANSITIONS = {
  created: ["pending", "cancelled", "expired"],
  pending: ["pending", "succeeded", "failed", "cancelled", "expired"],
  succeeded: [],
  failed: [],
  cancelled: [],
  expired: [],
} as const satisfies Record<Status, readonly Status[]>;

/** If the last attempt is declined, the checkout fails (decision 10). */
export const MAX_PAYMENT_ATTEMPTS = 5;

export type AttemptResult = LateResult["result"];

export type CheckoutCommand =
  | { readonly kind: "start" }
  | { readonly kind: "finish"; readonly attempt: number; readonly result: AttemptResult }
  | { readonly kind: "cancel" }
  | { readonly kind: "expire" };

export type CommandEffect = {
  readonly status: Status;
  readonly attempt: Attempt | null;
  /** A result that arrived after the checkout had ended: recorded, never applied (decision 10). */
  readonly lateResult: Omit<LateResult, "recordedAt"> | null;
};

export type FinalStatus = {
  [From in Status]: (typeof TRANSITIONS)[From] extends readonly [] ? From : never;
}[Status];

export function isFinal(status: Status): status is FinalStatus {
  return TRANSITIONS[status].length === 0;
}

export function isExpiryDue(
  { status, expiresAt }: Pick<Checkout, "status" | "expiresAt">,
  now: number,
): boolean {
  return !isFinal(status) && now >= expiresAt;
}

/** Refuses with `state_conflict`. */
export function decideCommand(
  payment: { readonly checkout: Checkout; readonly attempts: readonly Attempt[] },
  command: CheckoutCommand,
  now: number,
): Outcome<CommandEffect> {
  switch (command.kind) {
    case "start":
      return startAttempt(payment.checkout, payment.attempts, now);
    case "finish":
      return finishAttempt(payment.checkout, payment.attempts, { ...command, now });
    case "cancel":
      return moveTo(payment.checkout, "cancelled", abandonAttempt(payment.attempts, now));
    case "expire":
      if (now >= payment.checkout.expiresAt)
        return moveTo(payment.checkout, "expired", abandonAttempt(payment.attempts, now));
      return refuseFact("still_payable", { checkout: payment.checkout.id });
  }
}

function startAttempt(checkout: Checkout, attempts: readonly Attempt[], now: number): Outcome<CommandEffect> {
  const openAttempt = attempts.find(({ outcome }) => outcome === null);
  if (openAttempt !== undefined && !isFinal(checkout.status)) return accept(noChange(checkout));
  const number = nextAttemptNumber(attempts);
  if (number > MAX_PAYMENT_ATTEMPTS) return refuseFact("no_attempts_left", { checkout: checkout.id });
  return moveTo(checkout, "pending", { number, startedAt: now, outcome: null, finishedAt: null });
}

function nextAttemptNumber(attempts: readonly Attempt[]): number {
  return (attempts.at(-1)?.number ?? 0) + 1;
}

function finishAttempt(
  checkout: Checkout,
  attempts: readonly Attempt[],
  attemptEnd: { readonly attempt: number; readonly result: AttemptResult; readonly now: number },
): Outcome<CommandEffect> {
  const { result, now } = attemptEnd;
  const attempt = attempts.find(({ number }) => number === attemptEnd.attempt);
  if (attempt === undefined) {
    return refuseFact("unknown_attempt", { checkout: checkout.id, attempt: attemptEnd.attempt });
  }
  // The payer pressed the button twice.
  if (attempt.outcome === result) return accept(noChange(checkout));
  if (isFinal(checkout.status)) {
    return accept({ ...noChange(checkout), lateResult: { attempt: attempt.number, result } });
  }
  if (attempt.outcome !== null) {
    return refuseFact("attempt_ended", {
      attempt: attempt.number,
      checkout: checkout.id,
      outcome: attempt.outcome,
    });
  }
  const finishedAttempt = { ...attempt, outcome: result, finishedAt: now };
  if (result !== "declined") return moveTo(checkout, result, finishedAttempt);
  return moveTo(checkout, attempt.number === MAX_PAYMENT_ATTEMPTS ? "failed" : "pending", finishedAttempt);
}

function abandonAttempt(attempts: readonly Attempt[], now: number): Attempt | null {
  const openAttempt = attempts.find(({ outcome }) => outcome === null);
  return openAttempt === undefined ? null : { ...openAttempt, outcome: "abandoned", finishedAt: now };
}

function moveTo(checkout: Checkout, status: Status, attempt: Attempt | null): Outcome<CommandEffect> {
  const allowedStatuses: readonly Status[] = TRANSITIONS[checkout.status];
  if (allowedStatuses.includes(status)) return accept({ status, attempt, lateResult: null });
  if (checkout.status === "succeeded") return refuseFact("already_paid", { checkout: checkout.id, status });
  return refuseFact("status_conflict", { checkout: checkout.id, status: checkout.status, wanted: status });
}

function noChange({ status }: Checkout): CommandEffect {
  return { status, attempt: null, lateResult: null };
}
