import type { SeenEvents } from "../../core/webhook/seen-events.ts";

/** Maximum number of events in memory, without a disk or when it fails; the oldest are forgotten first. */
const MAX_REMEMBERED = 100_000;

/** A memory of events that ends with the process. */
export function rememberSeenEvents(): SeenEvents {
  const remembered = new Map<string, string | null>();
  return {
    has: ({ eventId, instance }) => {
      const known = remembered.get(eventId);
      return known !== undefined && (known === null || instance === null || known === instance);
    },
    add: ({ eventId, instance }) => {
      remembered.set(eventId, instance);
      const [oldest] = remembered.keys();
      if (remembered.size > MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
    },
    close: () => remembered.clear(),
  };
}

/** A memory that also works while the disk fails: an event was forwarded, even if that cannot be recorded. */
export function keepDespiteFailure(kept: SeenEvents, report: (error: unknown) => void): SeenEvents {
  const remembered = rememberSeenEvents();
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
