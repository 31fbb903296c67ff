import { isHoldingAction, type FaultAction } from "../fault/actions.ts";
import { FAULT_PARAMETERS } from "../fault/rules.ts";
import type { SingleFaultRequest } from "../fault/shapes.ts";

/** `paid_after_decline`: the first attempt is declined, the second succeeds. */
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

export type ScheduledFault = Omit<SingleFaultRequest, "action" | "until"> & {
  readonly action: FaultAction | Kill;
};

export type Schedule = { readonly faults: readonly ScheduledFault[]; readonly payer: PayerOutcome };

export const NO_FAULTS: Schedule = { faults: [], payer: "succeeded" };

/** Delay of an answer or a body, in milliseconds of real time. */
const LATENCY_MS = 250;
/** Delay of a delivery, in milliseconds by the store's clock. */
const DELIVERY_DELAY_MS = 60_000;
const PROXY_STATUS = 502;

export function faultAt(
  match: NonNullable<ScheduledFault["match"]>,
  action: ScheduledFault["action"],
): ScheduledFault {
  return { action, match, ...parametersOf(action) };
}

function parametersOf(action: ScheduledFault["action"]): Pick<ScheduledFault, "status" | "latencyMs"> {
  if (action === "status") return { status: PROXY_STATUS };
  if (isHoldingAction(action)) return { latencyMs: DELIVERY_DELAY_MS };
  const isTimed = FAULT_PARAMETERS.latencyMs.actions.some((timedAction) => timedAction === action);
  return isTimed ? { latencyMs: LATENCY_MS } : {};
}

export function isKill(action: ScheduledFault["action"]): action is Kill {
  return KILLS.some((kill) => kill === action);
}

export function scheduleSize({ faults, payer }: Schedule): number {
  return faults.length + (payer === NO_FAULTS.payer ? 0 : 1);
}

/** Equal for the same faults in any order and the same payer. */
export function scheduleKey({ faults, payer }: Schedule): string {
  const lines = faults.map((fault) => faultLine(fault)).toSorted();
  return [payer, ...lines].join("\n");
}

export function subschedulesOf({ faults, payer }: Schedule): readonly Schedule[] {
  let parts: readonly Schedule[] = [NO_FAULTS];
  if (payer !== NO_FAULTS.payer) parts = [NO_FAULTS, { faults: [], payer }];
  for (const fault of faults)
    parts = parts.concat(parts.map((part) => ({ faults: part.faults.concat(fault), payer: part.payer })));
  return parts;
}

/** For example `lose_answer at POST /v1/orders 1, payer: failed`. */
export function scheduleLine({ faults, payer }: Schedule): string {
  const parts = faults.map((fault) => faultLine(fault));
  if (payer !== NO_FAULTS.payer) parts.push(`payer: ${payer}`);
  return parts.length === 0 ? "no fault" : parts.join(", ");
}

/** For example `POST /v1/orders 1` or `order.succeeded 2`; `any 1` for a fault without a match. */
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
