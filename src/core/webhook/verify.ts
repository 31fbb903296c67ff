import { decodeUtf8, isRecord, parseJson } from "../json.ts";
import { bytesOf, DEFAULT_HEADER_NAMES, headerValues, reject, verifySignature } from "./signature.ts";
import { CHECKS, type Check, type VerifyOptions, type WebhookEvent, type WebhookVerdict } from "./webhook.ts";

/**
 * Verifies a webhook and parses its event (decisions 11 and 12): after `verifySignature` the body must be an event, and
 * the event id header, which is not signed, must not contradict it. `now` is milliseconds since the epoch.
 */
export function verifyWebhook(options: VerifyOptions & { readonly now: number }): WebhookVerdict {
  const verdict = verifySignature(options);
  if (!verdict.ok) return verdict;
  const body = parseJson(decodeUtf8(bytesOf(options.rawBody)) ?? "");
  const field = faultyField(body);
  if (field !== undefined)
    return reject(
      "event_invalid",
      `the signature is valid, but the body is not an event: ${field} is missing or invalid`,
    );
  const event = body as WebhookEvent;
  const { eventId: name } = options.headerNames ?? DEFAULT_HEADER_NAMES;
  const [claimed = event.event_id, ...more] = headerValues(options.headers, name);
  if (more.length > 0)
    return reject("event_id_doubled", `the header ${name} was sent ${more.length + 1} times`);
  if (claimed !== event.event_id)
    return reject("event_id_mismatch", `the header ${name} is not the event_id of the signed body`);
  return { ok: true, eventId: event.event_id, timestamp: verdict.timestamp, event };
}

/** The fields of an event in the order in which the service writes them (decision 11), and the fields of its `data`. */
export const EVENT_FIELDS = Object.keys({ ...CHECKS.envelope, ...CHECKS.change });
export const FIELDS_OF_CHECKOUT = Object.keys(CHECKS.checkout);

/** The first invalid field of an event; undefined if all fields are valid. Additional fields are accepted. */
function faultyField(body: unknown): string | undefined {
  if (!isRecord(body)) return "its object";
  const envelope = firstFault(body, CHECKS.envelope);
  if (envelope !== undefined || body["type"] === "webhook.test") return envelope;
  const change = firstFault(body, CHECKS.change);
  if (change !== undefined) return change;
  const field = firstFault(body["data"] as Record<string, unknown>, CHECKS.checkout);
  return field && `data.${field}`;
}

function firstFault(
  fields: Readonly<Record<string, unknown>>,
  checks: Readonly<Record<string, Check>>,
): string | undefined {
  return Object.entries(checks).find(([field, check]) => !check(fields[field]))?.[0];
}
