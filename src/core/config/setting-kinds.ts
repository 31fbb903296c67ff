import { durationText } from "../duration.ts";
import type { Outcome } from "../outcome.ts";
import { rateLimitText, type RateLimit } from "../request/rate-limit.ts";
import type { DeliverySchedule } from "../webhook/delivery.ts";
import { parseRateLimitText, scheduleText } from "./setting-text.ts";

/** Limits of durations are in milliseconds. */
export type SettingKind =
  | { readonly kind: "integer" | "duration"; readonly minimum: number; readonly maximum: number }
  | { readonly kind: "timeout" }
  | { readonly kind: "rate" }
  | { readonly kind: "schedule" }
  | { readonly kind: "hosts" }
  | { readonly kind: "text" | "texts"; readonly parse: (text: string) => Outcome<string> };
export type SettingKindName = SettingKind["kind"];

type KindValues = {
  readonly integer: readonly [value: number, served: number, inFile: number];
  readonly duration: readonly [value: number, served: number, inFile: string];
  readonly timeout: readonly [value: number, served: number, inFile: string];
  readonly rate: readonly [value: RateLimit | "off", served: string, inFile: string];
  readonly schedule: readonly [value: DeliverySchedule, served: DeliverySchedule, inFile: string[]];
  readonly hosts: readonly [value: readonly string[], served: readonly string[], inFile: string[]];
  readonly text: readonly [value: string, served: string | null, inFile: string];
  readonly texts: readonly [value: readonly string[], served: readonly string[], inFile: string[]];
};
export type ValueOf<Name extends SettingKindName> = KindValues[Name][0];
export type ServedValueOf<Name extends SettingKindName> = KindValues[Name][1];
export type FileValueOf<Name extends SettingKindName> = KindValues[Name][2];
export type UnitOf<Name extends SettingKindName> = Name extends "duration" | "timeout" | "schedule"
  ? "Ms"
  : "";

type KindCodec<Name extends SettingKindName> = {
  readonly unit?: UnitOf<Name>;
  /** Reports an unset list as empty and an unset text as null. */
  readonly serve?: (value: ValueOf<Name> | undefined) => ServedValueOf<Name> | undefined;
  readonly read?: (served: ServedValueOf<Name>) => ValueOf<Name> | undefined;
  readonly format?: (served: ServedValueOf<Name>) => string;
};

export const NO_VALUE_TEXT = "none";

const DURATION_CODEC = { unit: "Ms", format: durationText } as const;
const LIST_CODEC = { serve: (values: readonly string[] = []) => values, format: listText };

export const KIND_CODECS: { readonly [Name in SettingKindName]: KindCodec<Name> } = {
  integer: {},
  duration: DURATION_CODEC,
  timeout: DURATION_CODEC,
  rate: {
    serve: (value) => (value === undefined ? undefined : rateLimitText(value)),
    read: parseRateLimitText,
  },
  schedule: { unit: "Ms", format: scheduleText },
  hosts: LIST_CODEC,
  texts: LIST_CODEC,
  text: {
    serve: (value) => value ?? null,
    read: (setting) => setting ?? undefined,
    format: (setting) => setting ?? NO_VALUE_TEXT,
  },
};

function listText(values: readonly string[]): string {
  return [...new Set(values)].toSorted().join(",") || NO_VALUE_TEXT;
}
