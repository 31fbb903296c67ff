import { decodeUtf8, isRecord, parseJson } from "../json.ts";
import { hasField, readEventIn, type Dialect } from "../shape/dialect.ts";
import {
  bytesOf,
  headerNamesIn,
  headerValues,
  reject,
  verifySignature,
  type VerifyInput,
} from "./signature.ts";
import { STATUSES } from "../checkout/checkout.ts";
import { CHECKS, LENIENT_CHECKS, type Check, type WebhookEvent, type WebhookVerdict } from "./webhook.ts";

export function verifyWebhook(options: VerifyInput): WebhookVerdict {
  const verdict = verifySignature(options);
  if (!verdict.ok) return verdict;
  const { dialect, headers } = options;
  const { eventId: name } = headerNamesIn(dialect);
  const sentBody = parseJson(decodeUtf8(bytesOf(options.rawBody)) ?? "");
  const body = readEventIn(dialect, sentBody, headerValues(headers, name)[0]);
  const field = findInvalidField(body, dialect);
  if (field !== undefined)
    return reject(
      "event_invalid",
      `the signature is valid, but the body is not an event: ${field} is missing or invalid`,
    );
  const event = body as WebhookEvent;
  const [claimedId = event.event_id, ...otherIds] = headerValues(headers, name);
  if (otherIds.length > 0)
    return reject("event_id_doubled", `the header ${name} was sent ${otherIds.length + 1} times`);
  if (claimedId !== event.event_id)
    return reject("event_id_mismatch", `the header ${name} is not the event_id of the signed body`);
  return { ok: true, eventId: event.event_id, timestamp: verdict.timestamp, event };
}

/** In the order in which the service writes the fields (decision 11). */
export const EVENT_FIELDS = Object.keys({ ...CHECKS.envelope, ...CHECKS.change });
export const FIELDS_OF_CHECKOUT = Object.keys(CHECKS.checkout);

/** Returns undefined if all fields are valid. Accepts additional fields. */
function findInvalidField(body: unknown, dialect: Dialect | undefined): string | undefined {
  if (!isRecord(body)) return "its object";
  const isNeeded = (field: string): boolean => field === "event_id" || hasField(dialect, field);
  const envelopeField = firstInvalidField(body, CHECKS.envelope, isNeeded);
  if (envelopeField !== undefined || body["type"] === "webhook.test") return envelopeField;
  const hasKnownStatus = STATUSES.some((status) => String(body["type"]).endsWith(`.${status}`));
  const { change: changeCheck, checkout } = hasKnownStatus ? CHECKS : LENIENT_CHECKS;
  const changeField = firstInvalidField(body, changeCheck, isNeeded);
  if (changeField !== undefined) return changeField;
  const field = firstInvalidField(body["data"] as Record<string, unknown>, checkout);
  return field && `data.${field}`;
}

function firstInvalidField(
  fields: Readonly<Record<string, unknown>>,
  checks: Readonly<Record<string, Check>>,
  isNeeded = (_field: string): boolean => true,
): string | undefined {
  return Object.entries(checks).find(([field, check]) => isNeeded(field) && !check(fields[field]))?.[0];
}
