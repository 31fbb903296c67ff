import { iso } from "../core/clock.ts";
import { durationOf } from "../core/config/setting-text.ts";

/** Reads a span that a caller names, in milliseconds. Throws a TypeError. */
export function spanOf(span: string | number): number {
  const milliseconds = typeof span === "number" ? span : durationOf(span);
  if (milliseconds === undefined || !Number.isSafeInteger(milliseconds) || milliseconds <= 0)
    throw new TypeError(
      `a span is a text such as 30m, or whole milliseconds above 0; got ${JSON.stringify(span)}`,
    );
  return milliseconds;
}

/** Reads a moment that a caller names, in milliseconds. Throws a TypeError. */
export function momentOf(moment: string | Date): number {
  const milliseconds = typeof moment === "string" ? Date.parse(moment) : moment.getTime();
  const isWhole = typeof moment !== "string" || WITH_ZONE.test(moment);
  if (!isWhole || Number.isNaN(milliseconds))
    throw new TypeError(`a time is ISO 8601 with its zone, such as ${iso(0)}; got ${JSON.stringify(moment)}`);
  return milliseconds;
}

/** Without a zone a time would be another one on each machine. */
const WITH_ZONE = /^\d{4}-\d\d-\d\dT.*(?:Z|[+-]\d\d:?\d\d)$/i;
