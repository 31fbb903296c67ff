import { durationText } from "../config/setting-text.ts";
import type { FaultEntry } from "./operations.ts";

/** What an action was asked for with, as it is typed; null where it needs nothing. */
export function parametersText({ status, latencyMs, retryAfterS }: FaultEntry): string | null {
  if (status !== null) return String(status);
  if (latencyMs !== null) return durationText(latencyMs);
  return retryAfterS === null ? null : `${retryAfterS}s`;
}

/** Which requests or deliveries a fault is for; null where it is for all. Ids are short. */
export function matchText({ match, seed }: FaultEntry): string | null {
  const { method, path, eventType, eventId, endpointId, orderId, nth, probability } = match;
  const parts = [
    method,
    path,
    eventType,
    eventId === null ? null : `event ${eventId.slice(-8)}`,
    endpointId === null ? null : `to ${endpointId.slice(-8)}`,
    orderId,
    nth === 1 ? null : `from number ${nth}`,
    probability === null ? null : `${probability} by ${seed}`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join(", ");
}

/** What is expected of a share that is typed. */
export const FAULT_SHARE = "a number from 0 to 1, such as 0.25";

/** A share as it is typed; undefined where it is none. */
export function shareOf(text: string): number | undefined {
  return /^([01]|0?\.\d{1,9}|1\.0{1,9})$/.test(text) ? Number(text) : undefined;
}
