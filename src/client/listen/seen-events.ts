import type { SeenEvents } from "../../core/webhook/seen-events.ts";

/** Maximum number of events kept in memory if there is no disk or the disk fails; the oldest are dropped first. */
const MAX_EVENTS = 100_000;

export function seenEventsInMemory(): SeenEvents {
  const instances = new Map<string, string | null>();
  return {
    has: ({ eventId, instance }) => {
      const knownInstance = instances.get(eventId);
      return (
        knownInstance !== undefined &&
        (knownInstance === null || instance === null || knownInstance === instance)
      );
    },
    add: ({ eventId, instance }) => {
      instances.set(eventId, instance);
      const [oldestEvent] = instances.keys();
      if (instances.size > MAX_EVENTS && oldestEvent !== undefined) instances.delete(oldestEvent);
    },
    close: () => instances.clear(),
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
