import { UNSTATED_CHANGE_DECISIONS } from "../../core/readiness/relied.ts";
import type { Checkout } from "../../core/checkout/checkout.ts";
import { createEvent } from "../../core/checkout/event.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import {
  decideCommand,
  isExpiryDue,
  isFinal,
  type AttemptResult,
  type CheckoutCommand,
  type CommandEffect,
} from "../../core/checkout/payment.ts";
import {
  settlementOf,
  type PayOutcome,
  type SimulatedOutcome,
} from "../../core/checkout/reserved-order-id.ts";
import { checkoutJson } from "../../core/checkout/wire.ts";
import type { DueItem } from "../../store/checkout/settlements.ts";
import { emitEvent } from "../webhook/outbox.ts";
import { withCheckout, type CheckoutRef } from "../with-store.ts";
import type { ServiceContext } from "../context.ts";
import type { StatusChangeEntry } from "../../core/checkout/shapes.ts";

type Change = {
  readonly checkout: Checkout;
  readonly changes: readonly StatusChangeEntry[];
  readonly isLate: boolean;
};

export const MAX_DUE_ITEMS = 100;

export type PayerAction =
  | { readonly kind: "start" }
  /** `attempt`: the attempt whose wallet page the payer cancelled; null if the payer cancelled on the checkout page. */
  | { readonly kind: "cancel"; readonly attempt: number | null }
  | { readonly kind: "finish"; readonly attempt: number; readonly result: AttemptResult }
  /** Pays after the expiry: a checkout that has not ended expires first (decision 10). */
  | { readonly kind: "finish_late"; readonly attempt: number };

export function applyPayerAction(
  context: ServiceContext,
  checkoutId: string,
  action: PayerAction,
): Promise<Outcome<Change>> {
  return changeCheckout(context, { storeId: null, checkoutId }, (checkout, now) => {
    const isFromWallet =
      action.kind === "finish_late" || (action.kind === "cancel" && action.attempt !== null);
    if (isFromWallet && !isFinal(checkout.status) && currentAttempt(context, checkout) !== action.attempt) {
      return refuseFact("attempt_not_open", { attempt: String(action.attempt), checkout: checkoutId });
    }
    if (action.kind === "finish_late") return payLate(context, { checkout, attempt: action.attempt }, now);
    return apply(context, { checkout, command: action.kind === "cancel" ? { kind: "cancel" } : action }, now);
  });
}

function currentAttempt({ store }: ServiceContext, { id }: Checkout): number | undefined {
  return store.attempts.of(id).find(({ outcome }) => outcome === null)?.number;
}

export function simulatePayment(
  context: ServiceContext,
  ref: CheckoutRef,
  outcome: SimulatedOutcome,
): Promise<Outcome<Change>> {
  return changeCheckout(context, ref, (checkout, now) =>
    outcome === "pending"
      ? apply(context, { checkout, command: { kind: "start" } }, now)
      : settle(context, { checkout, outcome }, now),
  );
}

function changeCheckout(
  context: ServiceContext,
  ref: CheckoutRef,
  change: (checkout: Checkout, now: number) => Outcome<Change>,
): Promise<Outcome<Change>> {
  return withCheckout(context, ref, (checkout, now) => change(applyDueChanges(context, checkout, now), now));
}

function hasDueChange(context: ServiceContext, checkout: Checkout, now: number): boolean {
  return isExpiryDue(checkout, now) || (scheduledSettlement(context, checkout)?.dueAt ?? Infinity) <= now;
}

/** Undefined if a payer decides the outcome, or if the checkout is final. */
export function scheduledSettlement({ store }: ServiceContext, checkout: Checkout): DueItem | undefined {
  if (isFinal(checkout.status) || settlementOf(checkout) === undefined) return undefined;
  return store.settlements.of(checkout.id);
}

export function currentCheckout(
  context: ServiceContext,
  checkout: Checkout,
  now: number,
): Checkout | Promise<Checkout> {
  if (!hasDueChange(context, checkout, now)) return checkout;
  return context.store.write(() => settleDue(context, checkout, now));
}

/** Call inside the write that read the checkout. */
export function applyDueChanges(context: ServiceContext, checkout: Checkout, now: number): Checkout {
  return hasDueChange(context, checkout, now) ? settleDue(context, checkout, now) : checkout;
}

function settleDue(context: ServiceContext, checkout: Checkout, now: number): Checkout {
  const { checkouts, settlements } = context.store;
  const { id } = checkout;
  const settlement = settlements.of(id);
  if (settlement !== undefined && settlement.dueAt <= now) settleItem(context, settlement);
  const settledCheckout = checkouts.findInAnyStore(id) ?? checkout;
  if (!isExpiryDue(settledCheckout, now)) return settledCheckout;
  settleItem(context, { checkoutId: id, dueAt: settledCheckout.expiresAt, outcome: null });
  return checkouts.findInAnyStore(id) ?? settledCheckout;
}

export function applyDueItems(
  context: ServiceContext,
  storeId: string,
  { until, limit = MAX_DUE_ITEMS }: { readonly until: number; readonly limit?: number },
): { readonly changes: readonly StatusChangeEntry[]; readonly doneCount: number; readonly hasMore: boolean } {
  const { store } = context;
  const changes: StatusChangeEntry[] = [];
  for (let doneCount = 0; doneCount < limit; doneCount += 1) {
    const next = store.settlements.next(storeId);
    if (next === undefined || next.dueAt > until) return { changes, doneCount, hasMore: false };
    changes.push(...settleItem(context, next));
  }
  return { changes, doneCount: limit, hasMore: true };
}

function settleItem(
  context: ServiceContext,
  { checkoutId, dueAt, outcome }: DueItem,
): readonly StatusChangeEntry[] {
  const { store } = context;
  if (outcome !== null) store.settlements.remove(checkoutId);
  const checkout = store.checkouts.findInAnyStore(checkoutId);
  if (checkout === undefined) throw new Error(`${checkoutId} is due and does not exist`);
  if (isFinal(checkout.status)) return [];
  const changeOutcome =
    outcome === null
      ? apply(context, { checkout, command: { kind: "expire" } }, dueAt)
      : settle(context, { checkout, outcome }, dueAt);
  // Ignores an impossible outcome, which a row from another sandbox's snapshot can have.
  return changeOutcome.ok ? changeOutcome.value.changes : [];
}

function settle(
  context: ServiceContext,
  { checkout, outcome }: { readonly checkout: Checkout; readonly outcome: PayOutcome },
  now: number,
): Outcome<Change> {
  if (outcome === "cancelled") return apply(context, { checkout, command: { kind: "cancel" } }, now);
  if (outcome === "expired") return expireNow(context, checkout, now);
  const attempts = context.store.attempts.of(checkout.id);
  const attempt = attempts.find((entry) => entry.outcome === null || entry.outcome === "abandoned");
  if (attempt !== undefined) {
    const finish = { kind: "finish", attempt: attempt.number, result: outcome } as const;
    return apply(context, { checkout, command: finish }, now);
  }
  const startOutcome = decideCommand({ checkout, attempts }, { kind: "start" }, now);
  if (!startOutcome.ok) return startOutcome;
  const { status, attempt: startedAttempt } = startOutcome.value;
  if (startedAttempt === null) throw new Error(`${checkout.id} has an open attempt`);
  const startedCheckout = { ...checkout, status };
  const command = { kind: "finish", attempt: startedAttempt.number, result: outcome } as const;
  const payment = { checkout: startedCheckout, attempts: [...attempts, startedAttempt] };
  const finishOutcome = decideCommand(payment, command, now);
  if (!finishOutcome.ok) return finishOutcome;
  // The attempt is stored once, with its result, instead of being stored open and then updated.
  const start = record(context, { checkout, effect: { ...startOutcome.value, attempt: null } }, now);
  const finish = record(context, { checkout: startedCheckout, effect: finishOutcome.value }, now);
  return accept({ ...finish, changes: [...start.changes, ...finish.changes] });
}

function expireNow(context: ServiceContext, checkout: Checkout, now: number): Outcome<Change> {
  const expiresAt = Math.min(checkout.expiresAt, Math.max(now, checkout.createdAt + 1));
  if (!isFinal(checkout.status)) context.store.checkouts.setExpiry(checkout.id, expiresAt);
  return apply(context, { checkout: { ...checkout, expiresAt }, command: { kind: "expire" } }, expiresAt);
}

function payLate(
  context: ServiceContext,
  { checkout, attempt }: { readonly checkout: Checkout; readonly attempt: number },
  now: number,
): Outcome<Change> {
  const command = { kind: "finish", attempt, result: "succeeded" } as const;
  if (isFinal(checkout.status)) return apply(context, { checkout, command }, now);
  const outcome = expireNow(context, checkout, now);
  if (!outcome.ok) return outcome;
  const finishOutcome = apply(context, { checkout: outcome.value.checkout, command }, now);
  return finishOutcome.ok
    ? accept({ ...finishOutcome.value, changes: outcome.value.changes })
    : finishOutcome;
}

function apply(
  context: ServiceContext,
  { checkout, command }: { readonly checkout: Checkout; readonly command: CheckoutCommand },
  now: number,
): Outcome<Change> {
  const attempts = context.store.attempts.of(checkout.id);
  const decision = decideCommand({ checkout, attempts }, command, now);
  return decision.ok ? accept(record(context, { checkout, effect: decision.value }, now)) : decision;
}

function record(
  context: ServiceContext,
  { checkout, effect }: { readonly checkout: Checkout; readonly effect: CommandEffect },
  now: number,
): Change {
  const { store, world, checkoutOrigin } = context;
  const { status, attempt, lateResult } = effect;
  if (attempt !== null) store.attempts.save(checkout.id, attempt);
  if (lateResult !== null)
    store.attempts.recordLateResult({ checkoutId: checkout.id, ...lateResult, recordedAt: now });
  if (lateResult !== null || attempt?.outcome === "declined" || status === "expired") {
    const { id: requestId, storeId } = checkout;
    context.assumptions.note(UNSTATED_CHANGE_DECISIONS, { storeId, requestId, at: now });
  }
  if (status === checkout.status) return { checkout, changes: [], isLate: lateResult !== null };

  const changedCheckout = { ...checkout, status };
  const sequence = store.events.lastSequence(checkout.id) + 1;
  const json = checkoutJson(changedCheckout, checkoutOrigin);
  const change = { checkout: changedCheckout, previousStatus: checkout.status, sequence, checkoutJson: json };
  const event = createEvent({ id: world.uuid(checkout.storeId), ...change }, now);
  store.checkouts.setStatus(checkout.id, status);
  emitEvent(context, event);
  const { id: checkoutId, orderId } = checkout;
  const statusChange = { at: now, checkoutId, orderId, from: checkout.status, to: status, eventId: event.id };
  return { checkout: changedCheckout, changes: [statusChange], isLate: false };
}
