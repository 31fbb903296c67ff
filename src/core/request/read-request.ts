import { ERROR_CODES } from "../errors.ts";
import { FAULT_ACTIONS } from "../fault/actions.ts";
import { parseJson } from "../json.ts";
import { isUuid } from "../text.ts";
import type { LoggedRequest, RefusedRequest } from "./logged-request.ts";

/** Reads a request as the log has it; undefined for any text that is none, because other programs can write to the file. */
export function readRequest(text: string): LoggedRequest | undefined {
  const value = parseJson(text);
  return isRecord(value) && isRequest(value) ? value : undefined;
}

function isRequest(value: Fields): value is Fields & LoggedRequest {
  for (const [name, isValid] of CHECKS) if (!isValid(value[name])) return false;
  return true;
}

type Fields = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

/** The largest time that a date can have, in milliseconds. */
const MAX_MOMENT = 8.64e15;
const CODES: ReadonlySet<unknown> = new Set(ERROR_CODES);
const ACTIONS: ReadonlySet<unknown> = new Set(FAULT_ACTIONS);

const isText: Check = (value) => typeof value === "string";
const isWhole: Check = Number.isSafeInteger;
const isMoment: Check = (value) => isWhole(value) && Math.abs(Number(value)) <= MAX_MOMENT;
const orNull =
  (isValid: Check): Check =>
  (value) =>
    value === null || isValid(value);
const listOf =
  (isValid: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every((one) => isValid(one));

const REFUSED = {
  message: isText,
  headers: listOf(isText),
  body: isText,
  met: (value) => value === undefined || isText(value),
} satisfies Readonly<Record<keyof RefusedRequest, Check>>;

const CHECKS = Object.entries({
  position: isWhole,
  requestId: isText,
  at: isMoment,
  storeAt: isMoment,
  method: isText,
  path: isText,
  status: isWhole,
  code: orNull((value) => CODES.has(value)),
  orderId: orNull(isText),
  durationMs: Number.isFinite,
  decisions: listOf(isWhole),
  fault: orNull((value) => isRecord(value) && isFaultId(value["id"]) && ACTIONS.has(value["action"])),
  refused: orNull(
    (value) => isRecord(value) && REFUSED_CHECKS.every(([name, isValid]) => isValid(value[name])),
  ),
} satisfies Readonly<Record<keyof LoggedRequest, Check>>);

const REFUSED_CHECKS = Object.entries(REFUSED);

function isFaultId(value: unknown): boolean {
  return typeof value === "string" && isUuid(value);
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
