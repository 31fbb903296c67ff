import type { FaultEntry } from "./shapes.ts";
import { durationText } from "../duration.ts";
import { shortId } from "../text.ts";

export function parameterText({ status, latencyMs, retryAfterS }: FaultEntry): string | null {
  if (status !== null) return String(status);
  if (latencyMs !== null) return durationText(latencyMs);
  return retryAfterS === null ? null : `${retryAfterS}s`;
}

export function matchText({ match, seed }: FaultEntry): string | null {
  const { method, path, eventType, eventId, endpointId, orderId, nth, probability } = match;
  const parts = [
    method,
    path,
    eventType,
    eventId === null ? null : `event ${shortId(eventId)}`,
    endpointId === null ? null : `to ${shortId(endpointId)}`,
    orderId,
    nth === 1 ? null : `from number ${nth}`,
    probability === null ? null : `${probability} by ${seed}`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join(", ");
}

export function parseProbabilityText(text: string): number | undefined {
  return /^([01]|0?\.\d{1,9}|1\.0{1,9})$/.test(text) ? Number(text) : undefined;
}
