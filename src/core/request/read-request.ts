import { ERROR_CODES } from "../errors.ts";
import { FAULT_ACTIONS } from "../fault/actions.ts";
import { isRecord, parseJson } from "../json.ts";
import { isUuid } from "../text.ts";
import type { LoggedRequest, RefusedRequest } from "./logged-request.ts";

/** Returns undefined for other texts, because other programs can write to the log file. */
export function parseRequestLine(text: string): LoggedRequest | undefined {
  const value = parseJson(text);
  return isRequest(value) ? value : undefined;
}

function isRequest(value: unknown): value is LoggedRequest {
  return isRecord(value) && FIELD_CHECKS.every(([name, isValid]) => isValid(value[name]));
}

type Check = (value: unknown) => boolean;

/** The largest time value of a `Date`. */
const MAX_MOMENT = 8.64e15;

const isText: Check = (value) => typeof value === "string";
const isId: Check = (value) => typeof value === "string" && isUuid(value);
const isWholeNumber: Check = Number.isSafeInteger;
const isMoment: Check = (value) => isWholeNumber(value) && Math.abs(Number(value)) <= MAX_MOMENT;
const orNull =
  (isValid: Check): Check =>
  (value) =>
    value === null || isValid(value);
const listOf =
  (isValid: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every((item) => isValid(item));

const REFUSED_FIELD_CHECKS = Object.entries({
  message: isText,
  headers: listOf(isText),
  body: isText,
  met: (value) => value === undefined || isText(value),
  // Not checked, because another version may have written an unknown fact; `message` has its text.
  told: () => true,
} satisfies Readonly<Record<keyof RefusedRequest, Check>>);

const FIELD_CHECKS = Object.entries({
  position: isWholeNumber,
  requestId: isText,
  at: isMoment,
  storeAt: isMoment,
  method: isText,
  path: isText,
  status: isWholeNumber,
  code: orNull((value) => ERROR_CODES.some((code) => code === value)),
  orderId: orNull(isText),
  durationMs: Number.isFinite,
  decisions: listOf(isWholeNumber),
  fault: orNull(
    (value) =>
      isRecord(value) && isId(value["id"]) && FAULT_ACTIONS.some((action) => action === value["action"]),
  ),
  byDrill: (value) => value === undefined || value === true,
  refused: orNull(
    (value) => isRecord(value) && REFUSED_FIELD_CHECKS.every(([name, isValid]) => isValid(value[name])),
  ),
} satisfies Readonly<Record<keyof LoggedRequest, Check>>);
