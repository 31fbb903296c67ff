import type { Status } from "../../src/core/checkout/checkout.ts";
import type { AttemptResult } from "../../src/core/checkout/payment.ts";
import type { PayOutcome } from "../../src/core/checkout/reserved-order-id.ts";
import type { PaymentRow } from "./payment-invariants.ts";

export type Payment = Pick<PaymentRow, "status" | "attempts" | "late" | "events">;

/** An action of a payer on the pages, or of the control API on the payer's behalf. */
export type Act =
  | { readonly kind: "start" }
  /** On the checkout's page (null), or in the wallet of an attempt. */
  | { readonly kind: "cancel"; readonly attempt: number | null }
  | { readonly kind: "finish"; readonly attempt: number; readonly result: AttemptResult }
  | { readonly kind: "late"; readonly attempt: number }
  /** Shows the wallet, and leaves it without a payment. */
  | { readonly kind: "walk_away"; readonly attempt: number }
  | { readonly kind: "pay"; readonly outcome: PayOutcome };

/** An action with a form on a page. */
export type FormAct = Exclude<Act, { readonly kind: "walk_away" | "pay" }>;

const MAX_ATTEMPTS = 5;

/** Whether a status is final. */
export function isEnd(status: string): boolean {
  return ["succeeded", "failed", "cancelled", "expired"].includes(status);
}

/** The result of an action by decision 10, computed independently of the service: a forbidden action has no effect. */
function next(payment: Payment, act: Act): Payment {
  switch (act.kind) {
    case "start":
      return start(payment);
    case "cancel":
      // A wallet cancels only for its own attempt.
      return act.attempt === null || payment.attempts[act.attempt - 1] === null
        ? end(payment, "cancelled")
        : payment;
    case "finish":
      return finish(payment, act.attempt, act.result);
    case "late": {
      const isOpen = payment.attempts[act.attempt - 1] === null;
      return isOpen || isEnd(payment.status)
        ? finish(end(payment, "expired"), act.attempt, "succeeded")
        : payment;
    }
    case "walk_away":
      return payment;
    case "pay":
      return pay(payment, act.outcome);
  }
}

/** The possible results when several payers each take their actions in order, in any interleaving. */
export function endsOf(payment: Payment, payers: readonly (readonly Act[])[]): Payment[] {
  const ends = payers.flatMap(([act, ...later], payer) =>
    act === undefined ? [] : endsOf(next(payment, act), payers.with(payer, later)),
  );
  return ends.length === 0 ? [payment] : ends;
}

/** The possible effects of time: the payment settles automatically, it expires, or nothing changes. */
export function timeEffects(payment: Payment, settles: PayOutcome | null): Payment[] {
  const settled = settles === null || isEnd(payment.status) ? payment : pay(payment, settles);
  return [payment, settled, end(settled, "expired")];
}

/** The path of an action's form, and its fields besides the token. */
export function formOf(id: string, act: FormAct): { readonly path: string; readonly outcome?: string } {
  const wallet = (attempt: number): string => `/pay/${id}/wallet/${attempt}`;
  switch (act.kind) {
    case "start":
      return { path: `/pay/${id}/start` };
    case "cancel":
      if (act.attempt === null) return { path: `/pay/${id}/cancel` };
      return { path: wallet(act.attempt), outcome: "cancelled" };
    case "finish":
      return { path: wallet(act.attempt), outcome: act.result };
    case "late":
      return { path: wallet(act.attempt), outcome: "late" };
  }
}

/** The token in the forms of a page; undefined if the page has no form. */
export function formTokenIn(page: string): string | undefined {
  return /name="token" value="([^"]+)"/.exec(page)?.[1];
}

/** The end that a checkout's page shows; undefined while it can be paid. */
export function endIn(page: string): Status | undefined {
  const [, status] = /class="card result (\w+)"/.exec(page) ?? [];
  return status as Status | undefined;
}

function start(payment: Payment): Payment {
  if (isEnd(payment.status) || payment.attempts.includes(null)) return payment;
  return move({ ...payment, attempts: [...payment.attempts, null] }, "pending");
}

function finish(payment: Payment, attempt: number, result: AttemptResult): Payment {
  const outcome = payment.attempts[attempt - 1];
  if (outcome === undefined || outcome === result) return payment;
  if (isEnd(payment.status)) {
    return { ...payment, late: [...new Set([...payment.late, `${attempt} ${result}`])].toSorted() };
  }
  if (outcome !== null) return payment;
  const finished = { ...payment, attempts: payment.attempts.with(attempt - 1, result) };
  if (result !== "declined") return move(finished, result);
  return attempt === MAX_ATTEMPTS ? move(finished, "failed") : finished;
}

function pay(payment: Payment, outcome: PayOutcome): Payment {
  if (outcome === "cancelled" || outcome === "expired") return end(payment, outcome);
  const ready = payment.attempts.some(isUnpaid) ? payment : start(payment);
  return finish(ready, ready.attempts.findIndex(isUnpaid) + 1, outcome);
}

function isUnpaid(outcome: PaymentRow["attempts"][number]): boolean {
  return outcome === null || outcome === "abandoned";
}

function end(payment: Payment, status: "cancelled" | "expired"): Payment {
  if (isEnd(payment.status)) return payment;
  return move({ ...payment, attempts: payment.attempts.map((outcome) => outcome ?? "abandoned") }, status);
}

function move(payment: Payment, status: Status): Payment {
  return payment.status === status ? payment : { ...payment, status, events: payment.events + 1 };
}
