import { MAX_NOTE_LENGTH } from "../core/readiness/names.ts";
import type { Option } from "commander";
import { invalidDuration, invalidOption, optionParser, valueOption } from "./command.ts";
import { isHost, parseSchedule, parseRateLimitText } from "../core/config/setting-text.ts";
import { english } from "../core/language.ts";
import { explainAmountFault } from "../core/money.ts";
import { codePointLength, isUuid, printableLiteral } from "../core/text.ts";
import type { DeliverySchedule } from "../core/webhook/delivery.ts";
import type { World } from "../world.ts";
import { wordsBeforeSeparator } from "./option-rules.ts";
import {
  durationText,
  parseDurationText,
  parseSpanOrMomentText,
  type SpanOrMoment,
} from "../core/duration.ts";
import { partWords } from "../core/fact.ts";
import { PART_TEXTS } from "../core/refusals/parts.ts";

const MAX_DURATION_MS = 24 * 3_600_000;

export function parseDuration(text: string): number {
  const milliseconds = parseDurationText(text);
  if (milliseconds === undefined) throw invalidDuration("a duration such as 500ms, 10s or 2m", text);
  if (milliseconds > MAX_DURATION_MS) throw invalidDuration("a duration of at most 24h", text);
  return milliseconds;
}

export const parseSpanOrMoment = optionParser(
  english(PART_TEXTS.span_or_moment),
  parseSpanOrMomentText,
  invalidDuration,
);

export type EventStart = SpanOrMoment | { readonly eventId: string };

export function parseEventStart(text: string): EventStart | undefined {
  const eventId = parseUuid(text);
  return eventId === undefined ? parseSpanOrMomentText(text) : { eventId };
}

export function durationParser(minimum: number, maximum: number): (text: string) => number {
  const [, unit] = /^\d+([mhd])$/.exec(durationText(minimum)) ?? [];
  return optionParser(
    `a duration from ${durationText(minimum)} to ${durationText(maximum)}`,
    (text) => {
      const milliseconds = parseDurationText(text) ?? 0;
      return milliseconds >= minimum && milliseconds <= maximum ? milliseconds : undefined;
    },
    (expectedText, gotText) => invalidDuration(expectedText, gotText, unit),
  );
}

export function parseUuid(text: string): string | undefined {
  return isUuid(text) ? text.toLowerCase() : undefined;
}

export function isShortId(text: string): boolean {
  return /^[0-9a-f]{8}$/i.test(text);
}

export function isAnyId(text: string): boolean {
  return isShortId(text) || isUuid(text);
}

export const parseAnyId = optionParser(
  "an id such as 0199a3c4-5d00-7000-8000-000000000001, or its last 8 characters",
  (text) => (isShortId(text) ? text.toLowerCase() : parseUuid(text)),
);

export const parseId = optionParser("an id such as 0199a3c4-5d00-7000-8000-000000000001", parseUuid);

/** Parses `off`, or a rate such as `5/s`, which allows bursts of 10. */
export const parseRateLimit = optionParser("a rate such as 5/s, or off", parseRateLimitText);

/** Parses the delays before the attempts of a delivery, such as `0s,5s,5m` (decision 13). */
export function parseDeliverySchedule(text: string): DeliverySchedule {
  const delays = text.split(",");
  const schedule = parseSchedule(delays);
  if (schedule.ok) return schedule.value;
  const faults = schedule.refusal.map(({ index, message }) =>
    index === undefined ? `it ${message}` : `${printableLiteral(delays[index])} ${message}`,
  );
  throw invalidOption(`delays such as 0s,5s,5m, where ${faults.join("; ")}`, text);
}

export function wholeNumberParser(minimum: number, maximum: number): (text: string) => number {
  return optionParser(`a whole number from ${minimum} to ${maximum}`, (text) => {
    const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    return number >= minimum && number <= maximum ? number : undefined;
  });
}

export function limitOption(itemsNoun: string, { most, fallback } = { most: 1000, fallback: 100 }): Option {
  const description = { text: `maximum number of ${itemsNoun}, 1 to ${most}`, default: String(fallback) };
  return valueOption("--limit <n>", description, wholeNumberParser(1, most));
}

export function amountMinorParser({ argv }: Pick<World, "argv">): (text: string) => number {
  return (text) => {
    const typedCurrency = wordsBeforeSeparator(argv)
      .join(" ")
      .match(/(?<=--currency[ =])[a-z]{3}\b/i)?.[0];
    const expectedText = explainAmountFault(text, parseCurrency(typedCurrency ?? "EUR"));
    if (expectedText !== undefined) throw invalidOption(english(partWords(expectedText)), text);
    return Number(text);
  };
}

/** Converts a code to upper case, the only form that the service accepts. */
export function parseCurrency(text: string): string {
  return /^[a-z]{3}$/i.test(text) ? text.toUpperCase() : text;
}

export function choiceParser<Choice extends string>(
  choices: readonly Choice[],
  choicesText = choices.join(" or "),
): ((text: string) => Choice) & { readonly choices: readonly Choice[] } {
  const parse = optionParser(choicesText, (text) => choices.find((choice) => choice === text));
  return Object.assign(parse, { choices });
}

export const parseHost = optionParser("HOST or HOST:PORT", (text) => (isHost(text) ? text : undefined));

export const parseNote = optionParser(`a note of 1 to ${MAX_NOTE_LENGTH} characters`, (text) =>
  text === "" || codePointLength(text) > MAX_NOTE_LENGTH ? undefined : text,
);
