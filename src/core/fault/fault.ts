import { hashedFractionOf } from "./fraction.ts";
import { isUuid } from "../text.ts";
import {
  DELIVERY_ACTIONS,
  FAULT_ACTIONS,
  isApiAction,
  type ApiAction,
  type DeliveryAction,
} from "./actions.ts";
import type { FaultEntry, AppliedFault } from "./shapes.ts";

export type Fault = FaultEntry & { readonly storeId: string };

export type ApiFault = Fault & { readonly action: ApiAction };
export type DeliveryFault = Fault & { readonly action: DeliveryAction };

export const FAULT_HEADER = "Checkout-Fault";

export function isApiFault(fault: Fault): fault is ApiFault {
  return isApiAction(fault.action);
}

export function isDeliveryFault(fault: Fault): fault is DeliveryFault {
  return DELIVERY_ACTIONS.some((action) => action === fault.action);
}

export function faultHeader({ id, action }: AppliedFault): string {
  return `${action} ${id}`;
}

export function parseFaultHeader(text: string): AppliedFault | undefined {
  const [word = "", id = "", ...otherWords] = text.split(" ");
  const action = FAULT_ACTIONS.find((candidate) => candidate === word);
  return action === undefined || otherWords.length > 0 || !isUuid(id) ? undefined : { id, action };
}

export function faultReason({ id, action }: AppliedFault): string {
  return `injected by fault ${id} (${action})`;
}

export function hasEnded({ times, applied, until }: Fault, now: number): boolean {
  return (times !== null && applied >= times) || (until !== null && now >= until);
}

export function recordMatch(fault: Fault): { readonly fault: Fault; readonly applies: boolean } {
  const matchCount = fault.matched + 1;
  const { action, seed } = fault;
  const { nth, probability } = fault.match;
  // The action is part of the text, so that two actions with the same seed fire independently.
  const isChosen = probability === null || hashedFractionOf(`${seed} ${action} ${matchCount}`) < probability;
  const applies = matchCount >= nth && isChosen;
  return { fault: { ...fault, matched: matchCount }, applies };
}

export function matchesWildcard(pattern: string, text: string): boolean {
  const [head = "", ...otherParts] = pattern.split("*");
  const tail = otherParts.pop();
  if (tail === undefined) return text === pattern;
  if (!text.startsWith(head) || !text.endsWith(tail)) return false;
  let position = head.length;
  for (const part of otherParts) {
    const index = text.indexOf(part, position);
    if (index < 0) return false;
    position = index + part.length;
  }
  return position + tail.length <= text.length;
}
