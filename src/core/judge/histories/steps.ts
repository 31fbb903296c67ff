// Steps of histories, about the order `a`; `on` makes the same steps about another order.
import type { Status } from "../../checkout/checkout.ts";
import type { SamePart } from "../neighbours.ts";
import type { ScheduledFault } from "../schedule.ts";
import { MAX_TIMES, ORDER_NAMES, type History, type OrderName, type ReturnForm, type Step } from "../step.ts";

export type OrderStep = Extract<Step, { of: OrderName }>;

export const CREATE: OrderStep = { act: "create", of: "a" };
/** The customer buys again before the shop has learned of the end by an event. */
export const CREATE_EARLY: OrderStep = { act: "create", of: "a", isEarly: true };
/** The customer buys once more, which may fail. */
export const BUY_AGAIN: OrderStep = { act: "create", of: "a", expects: "nothing" };
/** The event of the creation, which a service delivers long before a payment. */
export const TELL_CREATED = tellOnly("created");
export const PAY = end("succeeded");
export const CANCEL = end("cancelled");
export const TELL: OrderStep = { act: "tell", of: "a" };
export const TELL_PAID = tellOnly("succeeded");
export const LOOK: OrderStep = { act: "look", of: "a" };
export const VISIT = visitAs({});

export function end(outcome: Extract<Step, { act: "pay" }>["outcome"]): OrderStep {
  return { act: "pay", of: "a", outcome };
}

export function tellOnly(...statuses: readonly Status[]): OrderStep {
  return { act: "tell", of: "a", statuses };
}

/** Delivers altered events (default: of all statuses). */
export function tellAs(
  alteration: NonNullable<Extract<Step, { act: "tell" }>["alteration"]>,
  ...statuses: readonly Status[]
): OrderStep {
  return { act: "tell", of: "a", alteration, ...(statuses.length > 0 && { statuses }) };
}

/** Delivers the payment of another order, with an event_id that resembles the event_id of order a's payment. */
export function tellWithSimilarId(order: OrderName, sameIdPart: SamePart): Step {
  return { act: "tell", of: order, statuses: ["succeeded"], sameIdPart };
}

/** Delivers the events of other checkouts of the order. */
export function tellFrom(from: NonNullable<Extract<Step, { act: "tell" }>["from"]>): OrderStep {
  return { act: "tell", of: "a", from };
}

export function visitAs(form: ReturnForm): OrderStep {
  return { act: "visit", of: "a", form };
}

export function wait(milliseconds: number): Step {
  return { act: "wait", milliseconds };
}

export function on(order: OrderName, ...steps: readonly OrderStep[]): readonly Step[] {
  return steps.map((step) => Object.assign({}, step, { of: order }));
}

/** Steps that must change nothing, for an unpaid order, and for another order before and after its payment. */
export function unchangedBy(...steps: readonly OrderStep[]): readonly Step[] {
  const otherOrderSteps = [CREATE, TELL_CREATED, ...steps, PAY, TELL, LOOK, ...steps, LOOK];
  return [CREATE, TELL_CREATED, ...steps, LOOK, ...on("b", ...otherOrderSteps)];
}

/** The same steps for every order at one moment. */
export function atOnce(...steps: readonly OrderStep[]): Step {
  return {
    act: "at_once",
    acts: ORDER_NAMES.map((order) => ({ steps: on(order, ...steps), share: 0, during: "event" })),
  };
}

/** The same steps for each of three orders, one after another. */
export function onEach(...steps: readonly OrderStep[]): readonly Step[] {
  return (["a", "b", "c"] as const).flatMap((order) => on(order, ...steps));
}

export type ApiFault = Pick<ScheduledFault, "action" | "status" | "latencyMs">;

/** From this step on, the API answers each question about these orders in this way. */
export function apiAnswers(fault: ApiFault, order: OrderName | "all" = "a"): Step {
  const match = { method: "GET", path: "/v1/checkout-sessions/*" } as const;
  return { act: "faults", of: order, faults: [{ ...fault, match, times: MAX_TIMES }] };
}

export const API_BUSY = apiAnswers({ action: "status", status: 503 });
export const API_DOWN = apiAnswers({ action: "status", status: 503 }, "all");
/** Answers that refuse a question; like the failures below, they prove nothing about the order. */
export const API_REFUSALS = [
  { action: "status", status: 401 },
  { action: "status", status: 403 },
  { action: "rate_limit" },
] as const;
export const API_FAILURES = [
  { action: "status", status: 500 },
  { action: "empty" },
  { action: "truncate" },
] as const;
export const API_SILENT = apiAnswers({ action: "lose_request" });
/** Delay of each answer of the slow API, in milliseconds. */
export const SLOW_API_MS = 300;
export const API_SLOW = apiAnswers({ action: "latency", latencyMs: SLOW_API_MS });
export const API_UP: Step = { act: "faults", of: "a", faults: [] };

/** The cause, for each rule that a second attempt after an unpaid end can break. */
export const SECOND_ATTEMPT_CAUSES = {
  booked_when_paid: "second_attempt",
  final_stays: "second_attempt",
  booked_once: "second_attempt",
} as const;

type CommonFields = Pick<History, "part" | "needs" | "isAlone">;

export function historiesWith<Name extends string>(
  commonFields: CommonFields,
  rows: Readonly<Record<Name, Omit<History, "part">>>,
): Readonly<Record<Name, History>> {
  const completeRows = Object.entries<Omit<History, "part">>(rows).map(([name, row]) => {
    const needs = [...(commonFields.needs ?? []), ...(row.needs ?? [])];
    return [name, { ...commonFields, ...row, needs }] as const;
  });
  return Object.fromEntries<History>(completeRows) as Record<Name, History>;
}
