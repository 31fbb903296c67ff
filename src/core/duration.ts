import { accept, type Outcome } from "./outcome.ts";
import { refuseFact } from "./refusals.ts";
import { printableLiteral } from "./text.ts";

const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Parses a duration such as `2h30m` to milliseconds. Returns undefined for zero and for other texts. */
export function parseDurationText(text: string): number | undefined {
  const parts = [...text.matchAll(/(\d{1,9})(ms|s|m|h|d)/g)];
  if (parts.map(([part]) => part).join("") !== text) return undefined;
  const milliseconds = parts.map(
    ([, digits, unit]) => Number(digits) * UNIT_MS[unit as keyof typeof UNIT_MS],
  );
  return milliseconds.reduce((sum, part) => sum + part, 0) || undefined;
}

/** Returns milliseconds. Refuses with `invalid_parameter`. */
export function parseSpan(text: string): Outcome<number> {
  const milliseconds = parseDurationText(text);
  if (milliseconds !== undefined) return accept(milliseconds);
  return refuseFact("duration_form", { received: printableLiteral(text) });
}

export type SpanOrMoment = { readonly spanMs: number } | { readonly at: number };

export function parseSpanOrMomentText(text: string): SpanOrMoment | undefined {
  const spanMs = parseDurationText(text);
  if (spanMs !== undefined) return { spanMs };
  const [date] = /^\d{4}-\d\d-\d\d(?=T|$)/.exec(text) ?? [];
  if (date === undefined || !isDate(date)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : { at };
}

/** Rejects dates that do not exist: `Date.parse` reads 30 February as a day in March. */
function isDate(date: string): boolean {
  const at = Date.parse(date);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(date);
}

export function durationText(milliseconds: number): string {
  if (milliseconds === 0) return "0s";
  const unit = (["h", "m", "s"] as const).find((name) => milliseconds % UNIT_MS[name] === 0) ?? "ms";
  return `${milliseconds / UNIT_MS[unit]}${unit}`;
}
