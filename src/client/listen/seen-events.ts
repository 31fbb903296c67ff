import type { SeenEvents } from "../../core/webhook/seen-events.ts";

/** Maximum number of events in memory if there is no disk or it fails; the oldest are dropped first. */
const MAX_REMEMBERED = 100_000;

export function seenEventsInMemory(): SeenEvents {
  const knownEvents = new Map<string, string | null>();
  return {
    has: ({ eventId, instance }) => {
      const knownMark = knownEvents.get(eventId);
      return knownMark !== undefined && (knownMark === null || instance === null || knownMark === instance);
    },
    add: ({ eventId, instance }) => {
      knownEvents.set(eventId, instance);
      const [oldestEvent] = knownEvents.keys();
      if (knownEvents.size > MAX_REMEMBERED && oldestEvent !== undefined) knownEvents.delete(oldestEvent);
    },
    close: () => knownEvents.clear(),
  };
}

/** A record of seen events that survives disk failures: a forwarded event counts even if it cannot be recorded. */
export function tolerateStorageFailures(file: SeenEvents, report: (error: unknown) => void): SeenEvents {
  const memoryEvents = seenEventsInMemory();
  const attempt = <Value>(work: () => Value, fallback: Value): Value => {
    try {
      return work();
    } catch (error) {
      report(error);
      return fallback;
    }
  };
  return {
    has: (event) => memoryEvents.has(event) || attempt(() => file.has(event), false),
    add: (event, now) => {
      const isKept = attempt(() => {
        file.add(event, now);
        return true;
      }, false);
      if (!isKept) memoryEvents.add(event, now);
    },
    close: file.close,
  };
}
