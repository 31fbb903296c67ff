import type { SeenEvents } from "../../core/webhook/seen-events.ts";

/** Maximum number of events in memory if there is no disk or it fails; the oldest are dropped first. */
const MAX_REMEMBERED = 100_000;

export function seenEventsInMemory(): SeenEvents {
  const remembered = new Map<string, string | null>();
  return {
    has: ({ eventId, instance }) => {
      const knownMark = remembered.get(eventId);
      return knownMark !== undefined && (knownMark === null || instance === null || knownMark === instance);
    },
    add: ({ eventId, instance }) => {
      remembered.set(eventId, instance);
      const [oldest] = remembered.keys();
      if (remembered.size > MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
    },
    close: () => remembered.clear(),
  };
}

/** A record of seen events that survives disk failures: a forwarded event counts even if it cannot be recorded. */
export function tolerateStorageFailures(kept: SeenEvents, report: (error: unknown) => void): SeenEvents {
  const remembered = seenEventsInMemory();
  const attempt = <Value>(work: () => Value, otherwise: Value): Value => {
    try {
      return work();
    } catch (error) {
      report(error);
      return otherwise;
    }
  };
  return {
    has: (event) => remembered.has(event) || attempt(() => kept.has(event), false),
    add: (event, now) => {
      const isKept = attempt(() => {
        kept.add(event, now);
        return true;
      }, false);
      if (!isKept) remembered.add(event, now);
    },
    close: kept.close,
  };
}
