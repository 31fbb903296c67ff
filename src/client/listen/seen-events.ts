import type { SeenEvents } from "../../core/webhook/seen-events.ts";

const MAX_EVENTS = 100_000;

export function createMemorySeenEvents(): SeenEvents {
  const instanceByEvent = new Map<string, string | null>();
  return {
    has: ({ eventId, instance }) => {
      const knownInstance = instanceByEvent.get(eventId);
      return (
        knownInstance !== undefined &&
        (knownInstance === null || instance === null || knownInstance === instance)
      );
    },
    add: ({ eventId, instance }) => {
      instanceByEvent.set(eventId, instance);
      const [oldestId] = instanceByEvent.keys();
      if (instanceByEvent.size > MAX_EVENTS && oldestId !== undefined) instanceByEvent.delete(oldestId);
    },
    close: () => instanceByEvent.clear(),
  };
}

/** Keeps an event in memory if the file fails, so that a duplicate is still recognised. */
export function tolerateStorageFailures(file: SeenEvents, report: (error: unknown) => void): SeenEvents {
  const memoryEvents = createMemorySeenEvents();
  const withFallback = <Value>(work: () => Value, fallback: Value): Value => {
    try {
      return work();
    } catch (error) {
      report(error);
      return fallback;
    }
  };
  return {
    has: (event) => memoryEvents.has(event) || withFallback(() => file.has(event), false),
    add: (event, now) => {
      const isKept = withFallback(() => {
        file.add(event, now);
        return true;
      }, false);
      if (!isKept) memoryEvents.add(event, now);
    },
    close: file.close,
  };
}
