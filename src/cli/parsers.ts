import type { RateLimit } from "../core/rate-limit.ts";
import { invalidOption } from "./command.ts";

const MILLISECONDS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

/** `500ms`, `10s`, `2m`, `1h`; in milliseconds. */
export function parseDuration(text: string): number {
  const [, digits, unit] = /^(\d{1,9})(ms|s|m|h)$/.exec(text) ?? [];
  if (digits === undefined || Number(digits) === 0) {
    throw invalidOption("a duration such as 500ms, 10s or 2m", text);
  }
  return Number(digits) * MILLISECONDS[unit as keyof typeof MILLISECONDS];
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

/** `HOST` or `HOST:PORT`, as it stands in a Host header. */
export function parseHost(text: string): string {
  if (!/^([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(:\d{1,5})?$/i.test(text)) {
    throw invalidOption("HOST or HOST:PORT", text);
  }
  return text;
}

/** A base address with its version segment, without a slash at the end. */
export function parseBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const plain =
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    url.username + url.password + url.search + url.hash === "";
  if (!plain) throw invalidOption("an address such as http://127.0.0.1:4242/v1", text);
  return url.href.replace(/\/+$/, "");
}
