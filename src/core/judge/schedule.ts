// A schedule of `explore`: faults at places, and an end of the payment. How schedules are chosen and shrunk:
// core/judge/search.ts; their histories: schedule-history.ts beside it; runs: client/judge/search/run-schedule.ts.
import { isHolding, type FaultAction } from "../fault/actions.ts";
import { FAULT_PARAMETERS } from "../fault/rules.ts";
import type { FaultRequest } from "../fault/shapes.ts";

/** How the payer ends a payment. `paid_after_decline`: the first attempt is declined, the second succeeds. */
export const PAYER_OUTCOMES = [
  "succeeded",
  "declined",
  "paid_after_decline",
  "failed",
  "cancelled",
  "expired",
  "late_success",
] as const;
export type PayerOutcome = (typeof PAYER_OUTCOMES)[number];

/** Kills of the shop or its command, which the sandbox itself cannot do. `kill`: before the answer. */
export const KILLS = ["kill", "kill_after_answer"] as const;
export type Kill = (typeof KILLS)[number];

/** A fault of a schedule, with the fields of `faults.add` in the test kit, or a kill. */
export type ScheduledFault = Omit<FaultRequest, "action" | "until"> & { readonly action: FaultAction | Kill };

/** The faults of a purchase, in the order in which they are added, and how the payer ends the payment. */
export type Schedule = { readonly faults: readonly ScheduledFault[]; readonly payer: PayerOutcome };

/** A purchase without faults, which is paid immediately. */
export const NO_FAULTS: Schedule = { faults: [], payer: "succeeded" };

/** Delay of an answer or a body, in milliseconds of real time. */
const LATENCY_MS = 250;
/** Delay of a delivery, in milliseconds by the store's clock. */
const DELIVERY_DELAY_MS = 60_000;
/** The status of the fault that answers like a proxy whose upstream has failed, with a body that is not JSON. */
const PROXY_STATUS = 502;

/** A fault that applies an action to one request or one delivery. */
export function faultAt(
  match: NonNullable<ScheduledFault["match"]>,
  action: ScheduledFault["action"],
): ScheduledFault {
  return { action, match, ...parametersOf(action) };
}

/** The parameters of an action that have other values than the defaults. */
function parametersOf(action: ScheduledFault["action"]): Pick<ScheduledFault, "status" | "latencyMs"> {
  if (action === "status") return { status: PROXY_STATUS };
  if (isHolding(action)) return { latencyMs: DELIVERY_DELAY_MS };
  const isTimed = FAULT_PARAMETERS.latencyMs.actions.some((timedAction) => timedAction === action);
  return isTimed ? { latencyMs: LATENCY_MS } : {};
}

export function isKill(action: ScheduledFault["action"]): action is Kill {
  return KILLS.some((kill) => kill === action);
}

/** The number of faults, plus one if the payer does not simply pay. */
export function scheduleSize({ faults, payer }: Schedule): number {
  return faults.length + (payer === NO_FAULTS.payer ? 0 : 1);
}

/** A key that is equal for two schedules if they have the same faults, in any order, and the same payer. */
export function scheduleKey({ faults, payer }: Schedule): string {
  const lines = faults.map((fault) => faultLine(fault)).toSorted();
  return [payer, ...lines].join("\n");
}

/** All schedules with some, none or all of a schedule's faults, and with its payer or a payer who pays. */
export function subschedulesOf({ faults, payer }: Schedule): readonly Schedule[] {
  let parts: readonly Schedule[] = [NO_FAULTS];
  if (payer !== NO_FAULTS.payer) parts = [NO_FAULTS, { faults: [], payer }];
  for (const fault of faults)
    parts = parts.concat(parts.map((part) => ({ faults: part.faults.concat(fault), payer: part.payer })));
  return parts;
}

/** A schedule as a line of text: `lose_answer at POST /v1/orders 1, payer: failed`. */
export function scheduleLine({ faults, payer }: Schedule): string {
  const parts = faults.map((fault) => faultLine(fault));
  if (payer !== NO_FAULTS.payer) parts.push(`payer: ${payer}`);
  return parts.length === 0 ? "no fault" : parts.join(", ");
}

/** The place of a fault: `POST /v1/orders 1`, `order.succeeded 2`; `any 1` for a fault without a match. */
export function placeOfFault({ match = {} }: Pick<ScheduledFault, "match">): string {
  const { method, path, eventType, nth = 1 } = match;
  const names = [method, path, eventType].filter((part) => part !== undefined);
  return [...(names.length === 0 ? ["any"] : names), nth].join(" ");
}

function faultLine(fault: ScheduledFault): string {
  const { action, match = {}, ...parameters } = fault;
  const { method: _method, path: _path, eventType: _type, nth: _nth, ...fields } = match;
  const place = placeOfFault(fault);
  const entries = Object.entries({ ...fields, ...parameters }).filter(([, value]) => value !== undefined);
  const hasDefaults = JSON.stringify(parameters) === JSON.stringify(parametersOf(action));
  return `${action} at ${place}${hasDefaults && Object.keys(fields).length === 0 ? "" : ` ${JSON.stringify(entries)}`}`;
}

export function targetsDelivery({ match = {} }: ScheduledFault): boolean {
  return match.eventType !== undefined;
}
