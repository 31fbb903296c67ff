// Steps of histories, about the order `a`; `on` makes the same steps about another order.
import type { Status } from "../../checkout/checkout.ts";
import type { Cause } from "../../readiness/drills/judge-causes.ts";
import type { JudgedInvariant } from "../../readiness/drills/judged-invariants.ts";
import type { SamePart } from "../neighbours.ts";
import type { ScheduledFault } from "../schedule.ts";
import {
  MAX_TIMES,
  type ConcurrentStep,
  type History,
  type OrderName,
  type ReturnForm,
  type Step,
} from "../step.ts";

export type OrderStep = Extract<Step, { of: OrderName }>;
type OrderSteps = readonly (OrderStep | readonly OrderStep[])[];
export type Row = Omit<History, "part" | "steps"> & {
  readonly steps: readonly (Step | readonly Step[])[];
};

export const CREATE: OrderStep = { act: "create", of: "a" };
export const CREATE_EARLY: OrderStep = { act: "create", of: "a", isEarly: true };
export const BUY_AGAIN: OrderStep = { act: "create", of: "a", expects: "nothing" };
export const TELL_CREATED = tellOnly("created");
export const PAY = end("succeeded");
export const CANCEL = end("cancelled");
export const TELL: OrderStep = { act: "tell", of: "a" };
export const TELL_PAID = tellOnly("succeeded");
export const LOOK: OrderStep = { act: "look", of: "a" };
export const VISIT = visitAs({});

export const NEW_ORDER = [CREATE, TELL_CREATED];
export const CANCELLED_ORDER = [CREATE, CANCEL, TELL];
export const PAYMENT = [PAY, TELL, LOOK];
export const EVENTS_AGAIN = [LOOK, TELL, LOOK];

export function end(outcome: Extract<Step, { act: "pay" }>["outcome"]): OrderStep {
  return { act: "pay", of: "a", outcome };
}

export const UNPAID_ENDS = ["failed", "expired", "cancelled"] as const;
export type UnpaidEnd = (typeof UNPAID_ENDS)[number];

export function endedAttempt(outcome: UnpaidEnd): readonly OrderStep[] {
  return [CREATE, end(outcome), TELL, LOOK];
}

export function tellOnly(...statuses: readonly Status[]): OrderStep {
  return { act: "tell", of: "a", statuses };
}

export function tellAs(
  alteration: NonNullable<Extract<Step, { act: "tell" }>["alteration"]>,
  ...statuses: readonly Status[]
): OrderStep {
  return { act: "tell", of: "a", alteration, ...(statuses.length > 0 && { statuses }) };
}

export function tellWithSimilarId(order: OrderName, sameIdPart: SamePart): Step {
  return { act: "tell", of: order, statuses: ["succeeded"], sameIdPart };
}

export function tellFrom(from: NonNullable<Extract<Step, { act: "tell" }>["from"]>): OrderStep {
  return { act: "tell", of: "a", from };
}

export function visitAs(form: ReturnForm): OrderStep {
  return { act: "visit", of: "a", form };
}

export function waitForOthers(minMs: number): Step {
  return { act: "wait_for_others", minMs };
}

export function wait(milliseconds: number): Step {
  return { act: "wait", milliseconds };
}

export function on(order: OrderName, ...steps: OrderSteps): readonly Step[] {
  return steps.flat().map((step) => Object.assign({}, step, { of: order }));
}

export function unchangedBy(...steps: readonly OrderStep[]): readonly Step[] {
  return [NEW_ORDER, steps, LOOK, on("b", NEW_ORDER, steps, PAYMENT, steps, LOOK)].flat();
}

export function atOnce(...acts: readonly ConcurrentStep[]): Step {
  return { act: "at_once", acts };
}

export function startNow(...steps: readonly Step[]): ConcurrentStep {
  return { steps, share: 0, during: "event" };
}

export function onEach(...steps: OrderSteps): readonly Step[] {
  return (["a", "b", "c"] as const).flatMap((order) => on(order, ...steps));
}

export type FaultsStep = Extract<Step, { act: "faults" }>;
export type ApiFault = Pick<ScheduledFault, "action" | "status" | "latencyMs">;

export function apiAnswers(fault: ApiFault, order: OrderName | "all" = "a"): FaultsStep {
  const match = { method: "GET", path: "/v1/checkout-sessions/*" } as const;
  return { act: "faults", of: order, faults: [{ ...fault, match, times: MAX_TIMES }] };
}

/** These answers prove nothing about the payment: the order may be paid or unpaid. */
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
export const NO_ANSWERS = [{ action: "reset" }, { action: "lose_request" }] as const;
export const API_PROBLEMS = [...API_REFUSALS, ...API_FAILURES, ...NO_ANSWERS];
export const SLOW_API_MS = 300;
/** Long enough for another event, or a restart, while the shop waits for the answer. */
export const SLOW_QUESTION_MS = 1000;
export const API = {
  busy: apiAnswers({ action: "status", status: 503 }),
  busyForAll: apiAnswers({ action: "status", status: 503 }, "all"),
  silent: apiAnswers({ action: "lose_request" }),
  slow: apiAnswers({ action: "latency", latencyMs: SLOW_API_MS }),
  up: { act: "faults", of: "a", faults: [] },
} as const satisfies Readonly<Record<string, Step>>;

export function causedBy(cause: Cause, ...rules: readonly JudgedInvariant[]): NonNullable<History["causes"]> {
  return Object.fromEntries(rules.map((rule) => [rule, cause]));
}

export const LOST_WITHOUT_API_CAUSES = {
  booked_when_paid: "lost_without_api",
  booked_once: "books_again",
} as const;

export const RETURN_LOSS_CAUSES = {
  booked_once: "books_by_both",
  booked_when_paid: "lost_by_return",
  final_stays: "lost_by_return",
} as const;

export const SECOND_ATTEMPT_CAUSES = causedBy(
  "second_attempt",
  "booked_when_paid",
  "final_stays",
  "booked_once",
);

export function historiesWith<Name extends string>(
  defaults: Pick<History, "part" | "needs" | "pace">,
  rows: Readonly<Record<Name, Row>>,
): Readonly<Record<Name, History>> {
  const histories = Object.entries<Row>(rows).map(([name, row]): [string, History] => {
    const needs = [...(defaults.needs ?? []), ...(row.needs ?? [])];
    return [name, { ...defaults, ...row, needs, steps: row.steps.flat() }];
  });
  return Object.fromEntries(histories) as Record<Name, History>;
}
