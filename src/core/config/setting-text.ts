import { durationText, parseDurationText } from "../duration.ts";
import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import type { RateLimit } from "../request/rate-limit.ts";
import {
  MAX_FAILING_MS,
  MAX_DELAY_MS,
  MAX_SCHEDULE_MS,
  MAX_DELIVERY_ATTEMPTS,
  type DeliverySchedule,
} from "../webhook/delivery.ts";

const HOST_PATTERN = /^([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/i;
const MAX_PORT = 65_535;
const MAX_PATH_LENGTH = 4096;

/** `index` is undefined if the fault concerns the whole schedule. */
type ScheduleFault = { readonly index: number | undefined; readonly message: string };

/** Parses delays such as `0s`, `5s`, `5m` (decision 13). */
export function parseSchedule(texts: readonly string[]): Outcome<DeliverySchedule, readonly ScheduleFault[]> {
  const delays = texts.map((text, index) => (index === 0 ? parseFirstDelay(text) : parseDurationText(text)));
  const faults: ScheduleFault[] = delays.flatMap((delay, index) => {
    if (delay !== undefined && delay <= MAX_DELAY_MS) return [];
    return [{ index, message: index === 0 ? "must be 0s: the first attempt is immediate" : DELAY_TEXT }];
  });
  if (texts.length === 0 || texts.length > MAX_DELIVERY_ATTEMPTS)
    faults.push({
      index: undefined,
      message: `must have 1 to ${MAX_DELIVERY_ATTEMPTS} delays, one for each attempt`,
    });
  const knownDelays = delays.flatMap((delay) => delay ?? []);
  const sum = knownDelays.reduce((total, delay) => total + delay, 0);
  if (faults.length === 0 && sum > MAX_SCHEDULE_MS)
    faults.push({
      index: undefined,
      message: `may take ${durationText(MAX_SCHEDULE_MS)} in all, but takes ${durationText(sum)}: an endpoint is disabled after ${durationText(MAX_FAILING_MS)} without a success`,
    });
  return faults.length === 0 ? accept(knownDelays) : { ok: false, refusal: faults };
}

const DELAY_TEXT = `must be a delay such as 500ms, 5s or 2h, from 1ms to ${durationText(MAX_DELAY_MS)}`;

function parseFirstDelay(text: string): 0 | undefined {
  return /^0(ms|s|m|h|d)?$/.test(text) ? 0 : undefined;
}

export function scheduleText(schedule: DeliverySchedule): string {
  return schedule.map(durationText).join(",");
}

/** Parses `5/s` or `off`, and returns undefined for other texts. The burst is twice the rate, as in the default. */
export function parseRateLimitText(text: string): RateLimit | "off" | undefined {
  if (text === "off") return "off";
  const [, digits] = /^(\d{1,6})\/s$/.exec(text) ?? [];
  if (digits === undefined || Number(digits) === 0) return undefined;
  const perSecond = Number(digits);
  return { perSecond, burst: perSecond * 2 };
}

export function parseFileName(text: string): Outcome<string> {
  return text === "" || text.length > MAX_PATH_LENGTH
    ? refuseFact("file_name", { most: MAX_PATH_LENGTH })
    : accept(text);
}

export function isHost(text: string): boolean {
  const [, name = "", , port = "1"] = HOST_PATTERN.exec(text) ?? [];
  if (name === "" || name.includes("..")) return false;
  return Number(port) >= 1 && Number(port) <= MAX_PORT && !port.startsWith("0");
}

/**
 * Returns the URL without trailing slashes, or undefined if it is not http(s) or has credentials, a query or a
 * fragment.
 */
export function parseBaseUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined;
  return url.username + url.password + url.search + url.hash === ""
    ? url.href.replace(/\/+$/, "")
    : undefined;
}
