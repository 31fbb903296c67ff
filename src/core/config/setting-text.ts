import { accept, type Outcome } from "../outcome.ts";
import type { RateLimit } from "../request/rate-limit.ts";
import { refuseValue } from "../text.ts";
import {
  DISABLE_AFTER_MS,
  MAX_DELAY_MS,
  MAX_SCHEDULE_MS,
  MAX_DELIVERY_ATTEMPTS,
  type DeliverySchedule,
} from "../webhook/delivery.ts";

const HOST = /^([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/i;
const MILLISECONDS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const MAX_PORT = 65_535;

/** Parses a duration such as `500ms` or `2m` to milliseconds, without an upper bound; undefined for any other text. */
export function parseDurationText(text: string): number | undefined {
  const [, digits, unit] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? [];
  if (digits === undefined || Number(digits) === 0) return undefined;
  return Number(digits) * MILLISECONDS[unit as keyof typeof MILLISECONDS];
}

/** Parses a duration in a user's text, in milliseconds. Refuses with `invalid_parameter`. */
export function parseSpan(text: string): Outcome<number> {
  const milliseconds = parseDurationText(text);
  if (milliseconds !== undefined) return accept(milliseconds);
  return refuseValue(["expected a duration such as 31m, 2h or 45s", "应为时长，如 31m、2h 或 45s"], text);
}

/** A time in a user's text: a span from now, or a moment in milliseconds. */
export type SpanOrMoment = { readonly spanMs: number } | { readonly at: number };

/** The expected form of a span or moment. */
export const SPAN_OR_MOMENT_FORM = "a span such as 10m, or a moment in ISO 8601";

/** Parses a span or a moment; undefined if the text is neither. */
export function parseSpanOrMomentText(text: string): SpanOrMoment | undefined {
  const spanMs = parseDurationText(text);
  if (spanMs !== undefined) return { spanMs };
  const at = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : { at };
}

/** A duration as text, in the largest unit, up to hours, in which it is a whole number. */
export function durationText(milliseconds: number): string {
  if (milliseconds === 0) return "0s";
  const unit = (["h", "m", "s"] as const).find((one) => milliseconds % MILLISECONDS[one] === 0) ?? "ms";
  return `${milliseconds / MILLISECONDS[unit]}${unit}`;
}

/** A fault of a schedule: the index of the wrong delay, or undefined for the whole schedule. */
type ScheduleFault = { readonly at: number | undefined; readonly message: string };

/**
 * Parses the delays before the attempts of a delivery, such as `0s`, `5s`, `5m` (decision 13). Refuses with all faults.
 */
export function parseSchedule(texts: readonly string[]): Outcome<DeliverySchedule, readonly ScheduleFault[]> {
  const delays = texts.map((text, at) => (at === 0 ? startOf(text) : parseDurationText(text)));
  const faults: ScheduleFault[] = delays.flatMap((delay, at) => {
    if (delay !== undefined && delay <= MAX_DELAY_MS) return [];
    return [{ at, message: at === 0 ? "must be 0s: the first attempt is immediate" : A_DELAY }];
  });
  if (texts.length === 0 || texts.length > MAX_DELIVERY_ATTEMPTS)
    faults.push({
      at: undefined,
      message: `must have 1 to ${MAX_DELIVERY_ATTEMPTS} delays, one for each attempt`,
    });
  const whole = delays.flatMap((delay) => delay ?? []);
  const sum = whole.reduce((before, delay) => before + delay, 0);
  if (faults.length === 0 && sum > MAX_SCHEDULE_MS)
    faults.push({
      at: undefined,
      message: `may take ${durationText(MAX_SCHEDULE_MS)} in all, but takes ${durationText(sum)}: an endpoint is disabled after ${durationText(DISABLE_AFTER_MS)} without a success`,
    });
  return faults.length === 0 ? accept(whole) : { ok: false, refusal: faults };
}

const A_DELAY = `must be a delay such as 500ms, 5s or 2h, from 1ms to ${durationText(MAX_DELAY_MS)}`;

/** Parses the delay before the first attempt, which must be 0. */
function startOf(text: string): 0 | undefined {
  return /^0(ms|s|m|h|d)?$/.test(text) ? 0 : undefined;
}

/** A schedule as text: `0s,5s,5m`. */
export function scheduleText(schedule: DeliverySchedule): string {
  return schedule.map(durationText).join(",");
}

/** Parses `5/s` or `off`; the burst is twice the rate, as in the default. Undefined for any other text. */
export function parseRateLimitText(text: string): RateLimit | "off" | undefined {
  if (text === "off") return "off";
  const [, digits] = /^(\d{1,6})\/s$/.exec(text) ?? [];
  if (digits === undefined || Number(digits) === 0) return undefined;
  const perSecond = Number(digits);
  return { perSecond, burst: perSecond * 2 };
}

/** Whether a text is `HOST` or `HOST:PORT`, as in a Host header. */
export function isHost(text: string): boolean {
  const [, name = "", , port = "1"] = HOST.exec(text) ?? [];
  if (name === "" || name.includes("..")) return false;
  return Number(port) >= 1 && Number(port) <= MAX_PORT && !port.startsWith("0");
}

/**
 * Parses a base URL, removing slashes at its end; undefined if it is not http(s), or has credentials, a query or a
 * fragment.
 */
export function parseBaseUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined;
  return url.username + url.password + url.search + url.hash === ""
    ? url.href.replace(/\/+$/, "")
    : undefined;
}
