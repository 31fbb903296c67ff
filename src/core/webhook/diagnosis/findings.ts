import { compactJson } from "./body-variants.ts";
import { bodyForms } from "./body-forms.ts";
import type { CauseFinding } from "./causes.ts";
import { detailOf, type DetailFact } from "./details.ts";
import {
  DEFAULT_TOLERANCE_SECONDS,
  headerValues,
  checkSecret,
  TIMESTAMP_PATTERN,
  type VerifyInput,
} from "../signature.ts";
import type { HeaderNames, WebhookHeaders } from "../webhook.ts";

const MAX_LIKELY_SKEW_SECONDS = 3600;
const TIME_ZONE_STEP_SECONDS = 1800;
const TIME_ZONE_SLACK_SECONDS = 60;
const MAX_TIME_ZONE_SECONDS = 14 * 3600;
const MAX_PARTS = 3;

export function requiredHeaderFindings(headers: WebhookHeaders, names: HeaderNames): readonly CauseFinding[] {
  return (["timestamp", "signature"] as const).flatMap((kind): CauseFinding[] => {
    const name = names[kind];
    const values = headerValues(headers, name);
    if (values.length === 0) return [{ code: `${kind}_missing`, detail: name }];
    if (values.length > 1) return [{ code: `${kind}_doubled`, detail: name }];
    return values[0]?.trim() === "" ? [{ code: `${kind}_empty`, detail: name }] : [];
  });
}

export function secretFindings(secrets: readonly string[]): readonly CauseFinding[] {
  return secrets.flatMap((secret): readonly CauseFinding[] => {
    if (checkSecret(secret) === undefined) return [];
    if (secret.startsWith("svc_")) return [{ code: "secret_is_api_key" }];
    const detail = detailOf("secret_has_white_space");
    return [/\s/.test(secret) ? { code: "secret_whitespace", detail } : { code: "secret_malformed" }];
  });
}

export function timestampFindings(text: string, name: string): readonly CauseFinding[] {
  if (TIMESTAMP_PATTERN.test(text)) return [];
  if (/^\d{13}$/.test(text)) return [{ code: "timestamp_milliseconds" }];
  if (text.includes(",")) return [{ code: "timestamp_doubled", detail: name }];
  return [{ code: "timestamp_malformed", detail: timestampDetail(text) }];
}

function timestampDetail(text: string): DetailFact {
  if (text !== text.trim()) return detailOf("surrounded");
  if (/^\d+$/.test(text)) return detailOf("number_of_digits", text.length);
  if (/^[+-]\d/.test(text)) return detailOf("signed_number");
  if (/^\d+[.eE]/.test(text)) return detailOf("fraction");
  return detailOf(Number.isNaN(Date.parse(text)) ? "not_a_number" : "date");
}

export function parseTimestampSeconds(text: string): readonly number[] {
  const parts = text.split(",", MAX_PARTS).map((part) => part.trim().replace(/^[+-]/, ""));
  return parts.flatMap((part) => {
    if (/^\d{13}$/.test(part)) return [Math.floor(Number(part) / 1000)];
    if (/^\d{10}(?:\.\d+)?$/.test(part)) return [Math.floor(Number(part))];
    const date = /^\d{4}-/.test(part) ? Date.parse(part) : Number.NaN;
    return Number.isNaN(date) ? [] : [Math.floor(date / 1000)];
  });
}

export function ageFindings(
  { headers, now, toleranceSeconds = DEFAULT_TOLERANCE_SECONDS }: VerifyInput,
  name: string,
): readonly CauseFinding[] {
  const text = headerValues(headers, name)[0] ?? "";
  const age = Math.floor(now / 1000) - Number(text);
  if (!TIMESTAMP_PATTERN.test(text) || Math.abs(age) <= toleranceSeconds) return [];
  const distance = formatSpan(Math.abs(age));
  const skew: CauseFinding = { code: "clock_skew", detail: detailOf(age > 0 ? "behind" : "ahead", distance) };
  if (age < 0) return [skew];
  const replay: CauseFinding = { code: "stale_replay", detail: distance };
  return age < MAX_LIKELY_SKEW_SECONDS || isTimeZoneOffset(age) ? [skew, replay] : [replay, skew];
}

function isTimeZoneOffset(seconds: number): boolean {
  const remainder = seconds % TIME_ZONE_STEP_SECONDS;
  const distance = Math.min(remainder, TIME_ZONE_STEP_SECONDS - remainder);
  return distance <= TIME_ZONE_SLACK_SECONDS && seconds <= MAX_TIME_ZONE_SECONDS + TIME_ZONE_SLACK_SECONDS;
}

export function formFindings(rawBody: Uint8Array): readonly CauseFinding[] {
  const forms = bodyForms(rawBody);
  if (forms.length > 0) return forms.map(({ code, detail }) => ({ code, detail }));
  const encodedBody = Buffer.from(Buffer.from(rawBody).toString("utf8"), "utf8");
  const offset = rawBody.findIndex((byte, index) => byte !== encodedBody[index]);
  return offset < 0 ? [] : [{ code: "body_not_utf8", detail: detailOf("not_utf8_from", offset) }];
}

export function bodyHints(rawBody: Uint8Array): readonly CauseFinding[] {
  if (rawBody.length === 0) return [{ code: "body_empty" }];
  const text = Buffer.from(rawBody).toString("utf8");
  if (/^\[object \w+\]$/.test(text))
    return [{ code: "body_not_raw", detail: detailOf("object_as_text", text) }];
  const hints: CauseFinding[] = [];
  if (text.includes("\ufffd"))
    hints.push({ code: "body_characters_lost", detail: detailOf("replacement_characters") });
  if (compactJson(text) !== undefined && /\s/.test(text.replaceAll(/"(?:[^"\\]|\\.)*"/g, "")))
    hints.push({ code: "body_reserialised", detail: detailOf("formatted") });
  return hints;
}

export function formatSpan(seconds: number): string {
  const units = [
    [86_400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ] as const;
  const parts = units.map(([size, unit], unitIndex) => {
    const largerUnit = units[unitIndex - 1]?.[0] ?? Number.POSITIVE_INFINITY;
    return [Math.floor((seconds % largerUnit) / size), unit] as const;
  });
  const index = parts.findIndex(([count]) => count > 0);
  const shownParts = parts.slice(Math.max(index, 0), Math.max(index, 0) + 2).filter(([count]) => count > 0);
  return shownParts.map(([count, unit]) => `${count} ${unit}`).join(" ");
}
