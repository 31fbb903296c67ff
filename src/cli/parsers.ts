import { MAX_NOTE_LENGTH } from "../core/readiness/admin-act.ts";
import { MAX_CHECKOUT_LIFETIME_MS, MIN_CHECKOUT_LIFETIME_MS } from "../core/checkout/checkout.ts";
import type { RateLimit } from "../core/rate-limit.ts";
import { invalidOption } from "./command.ts";

const HOST = /^([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/i;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MILLISECONDS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Timers of Node end after 24 days; nobody waits for one. */
const MAX_DURATION_MS = 24 * 3_600_000;

/** `500ms`, `10s`, `2m`, `1h`, in milliseconds, at most a day; for the limits of waiting. */
export function parseDuration(text: string): number {
  const milliseconds = durationOf(text);
  if (milliseconds === undefined) throw invalidOption("a duration such as 500ms, 10s or 2m", text);
  if (milliseconds > MAX_DURATION_MS) throw invalidOption("a duration of at most 24h", text);
  return milliseconds;
}

/** How long a checkout can be paid, in milliseconds, within the bounds of decision 10. */
export function parseLifetime(text: string): number {
  const milliseconds = durationOf(text) ?? 0;
  if (milliseconds < MIN_CHECKOUT_LIFETIME_MS || milliseconds > MAX_CHECKOUT_LIFETIME_MS)
    throw invalidOption("a duration from 5m to 24h", text);
  return milliseconds;
}

/** A duration without an upper bound; undefined where it is no duration. */
export function durationOf(text: string): number | undefined {
  const [, digits, unit] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? [];
  if (digits === undefined || Number(digits) === 0) return undefined;
  return Number(digits) * MILLISECONDS[unit as keyof typeof MILLISECONDS];
}

/** A duration as it would be typed, in the largest unit up to hours that leaves no rest: for the defaults in help texts. */
export function durationText(milliseconds: number): string {
  const unit = (["h", "m", "s"] as const).find((one) => milliseconds % MILLISECONDS[one] === 0) ?? "ms";
  return `${milliseconds / MILLISECONDS[unit]}${unit}`;
}

/** An id as the service gives it, in lower case; undefined where it is none. */
export function idOf(text: string): string | undefined {
  const id = text.toLowerCase();
  return UUID.test(id) ? id : undefined;
}

/** The same for options. */
export function parseId(text: string): string {
  const id = idOf(text);
  if (id === undefined) throw invalidOption("an id such as 0199a3c4-5d00-7000-8000-000000000001", text);
  return id;
}

/** `5/s` or `off`. The burst is twice the rate, as in the default. */
export function parseRateLimit(text: string): RateLimit | "off" {
  if (text === "off") return "off";
  const [, digits] = /^(\d{1,6})\/s$/.exec(text) ?? [];
  if (digits === undefined || Number(digits) === 0) throw invalidOption("a rate such as 5/s, or off", text);
  const perSecond = Number(digits);
  return { perSecond, burst: perSecond * 2 };
}

/** A whole number within bounds. */
export function parseWhole(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (!/^\d{1,16}$/.test(text) || number < minimum || number > maximum) {
      throw invalidOption(`a whole number from ${minimum} to ${maximum}`, text);
    }
    return number;
  };
}

/** One of a few words. */
export function parseChoice<Choice extends string>(choices: readonly Choice[]): (text: string) => Choice {
  return (text) => {
    const choice = choices.find((candidate) => candidate === text);
    if (choice === undefined) throw invalidOption(choices.join(" or "), text);
    return choice;
  };
}

/** What somebody has to say about an act, for the audit log. */
export function parseNote(text: string): string {
  if (text === "" || text.length > MAX_NOTE_LENGTH)
    throw invalidOption(`a note of 1 to ${MAX_NOTE_LENGTH} characters`, text);
  return text;
}

/** `HOST` or `HOST:PORT`, as it stands in a Host header. */
export function parseHost(text: string): string {
  const [, name = "", , port = "1"] = HOST.exec(text) ?? [];
  if (
    name === "" ||
    name.includes("..") ||
    Number(port) < 1 ||
    Number(port) > 65_535 ||
    port.startsWith("0")
  ) {
    throw invalidOption("HOST or HOST:PORT", text);
  }
  return text;
}

/** A base address with its version segment, without a slash at the end; undefined where it is none that can be used. */
export function parseBaseUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined;
  return url.username + url.password + url.search + url.hash === ""
    ? url.href.replace(/\/+$/, "")
    : undefined;
}
