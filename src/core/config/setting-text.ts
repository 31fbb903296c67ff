import type { RateLimit } from "../rate-limit.ts";

const HOST = /^([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/i;
const MILLISECONDS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const MAX_PORT = 65_535;

/** A duration such as `500ms` or `2m` in milliseconds, without an upper bound; undefined where it is no duration. */
export function durationOf(text: string): number | undefined {
  const [, digits, unit] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? [];
  if (digits === undefined || Number(digits) === 0) return undefined;
  return Number(digits) * MILLISECONDS[unit as keyof typeof MILLISECONDS];
}

/** A duration as it would be typed, in the largest unit up to hours that leaves no rest. */
export function durationText(milliseconds: number): string {
  const unit = (["h", "m", "s"] as const).find((one) => milliseconds % MILLISECONDS[one] === 0) ?? "ms";
  return `${milliseconds / MILLISECONDS[unit]}${unit}`;
}

/** `5/s` or `off`; the burst is twice the rate, as in the default. Undefined for any other text. */
export function rateLimitOf(text: string): RateLimit | "off" | undefined {
  if (text === "off") return "off";
  const [, digits] = /^(\d{1,6})\/s$/.exec(text) ?? [];
  if (digits === undefined || Number(digits) === 0) return undefined;
  const perSecond = Number(digits);
  return { perSecond, burst: perSecond * 2 };
}

/** Whether a text is `HOST` or `HOST:PORT`, as it stands in a Host header. */
export function isHost(text: string): boolean {
  const [, name = "", , port = "1"] = HOST.exec(text) ?? [];
  if (name === "" || name.includes("..")) return false;
  return Number(port) >= 1 && Number(port) <= MAX_PORT && !port.startsWith("0");
}

/** A base address with its version segment, without a slash at the end; undefined where it is none that can be used. */
export function parseBaseUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined;
  return url.username + url.password + url.search + url.hash === ""
    ? url.href.replace(/\/+$/, "")
    : undefined;
}
