import type { Checkout } from "../checkout/checkout.ts";
import { isFinal, MAX_PAYMENT_ATTEMPTS } from "../checkout/payment.ts";
import { settlementOf } from "../checkout/reserved-order-id.ts";
import { english, type Translator } from "../language.ts";
import { EXPLAIN_SENTENCES } from "./sentences.ts";
import { spanText } from "./span.ts";
import type { Attempt, LastChange, LateResult } from "../checkout/shapes.ts";

type CheckoutFacts = {
  readonly checkout: Pick<Checkout, "status" | "createdAt" | "orderId">;
  /** Oldest first. */
  readonly attempts: readonly Attempt[];
  readonly lateResults: readonly LateResult[];
  readonly newestEventAt: number;
};

export function lastChange(facts: CheckoutFacts): LastChange {
  const { checkout, attempts, lateResults, newestEventAt } = facts;
  const [lateResult, attempt] = [lateResults.at(-1), attempts.at(-1)];
  const { status, createdAt } = checkout;
  if (lateResult !== undefined)
    return {
      ...NO_ATTEMPT,
      at: lateResult.recordedAt,
      what: "late",
      by: "payer",
      attempt: lateResult.attempt,
    };
  if (status === "created") return { ...NO_ATTEMPT, at: createdAt, what: "created", by: "merchant" };
  const at = isFinal(status) ? newestEventAt : (attempt?.finishedAt ?? attempt?.startedAt ?? newestEventAt);
  const by = status === "expired" ? "clock" : actorOf(checkout, at);
  const number = attempt?.number ?? null;
  if (attempt?.outcome === "declined" && (status === "pending" || status === "failed"))
    return {
      at,
      what: "declined",
      by,
      attempt: number,
      attemptsLeft: MAX_PAYMENT_ATTEMPTS - attempt.number,
    };
  return { at, what: status === "pending" ? "started" : status, by, attempt: number, attemptsLeft: null };
}

const NO_ATTEMPT = { attempt: null, attemptsLeft: null } as const;

function actorOf(checkout: CheckoutFacts["checkout"], at: number): LastChange["by"] {
  return settlementOf(checkout)?.dueAt === at ? "order_id" : "payer";
}

export function describeLastChange(
  { what, attempt, attemptsLeft }: LastChange,
  say: Translator = english,
): string {
  const { started, declined, late } = EXPLAIN_SENTENCES.last;
  if (what === "started") return say(started(attempt ?? 1));
  if (what === "declined") return say(declined(attemptsLeft ?? 0));
  return what === "late" ? say(late(attempt ?? 1)) : "";
}

export function lastChangeText({ at, by }: LastChange, now: number, say: Translator = english): string {
  return `${ageText(now - at, say)}${say([", ", "，"])}${say(EXPLAIN_SENTENCES.lastBy[by])}`;
}

export function ageText(ageMs: number, say: Translator): string {
  if (Math.abs(ageMs) < 1000) return say(EXPLAIN_SENTENCES.justNow);
  const span = spanText(Math.abs(ageMs), say);
  return say(ageMs > 0 ? EXPLAIN_SENTENCES.ago(span) : EXPLAIN_SENTENCES.ahead(span));
}
