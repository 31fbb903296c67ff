import { STATUSES } from "../checkout/checkout.ts";
import { decodeUtf8, isRecord, parseJson } from "../json.ts";
import { bytesOf, HEADERS, headerValues, reject, verifySignature } from "./signature.ts";
import type {
  VerifyOptions,
  WebhookChange,
  WebhookCheckout,
  WebhookEnvelope,
  WebhookEvent,
  WebhookVerdict,
} from "./webhook.ts";

/**
 * Verifies a webhook and reads its event (decisions 11 and 12): after `verifySignature` the body must be an event, and
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
      `the signature is right, but the body is no event: ${field} is not what was expected`,
    );
  const event = body as WebhookEvent;
  const { eventId: name } = options.headerNames ?? HEADERS;
  const [claimed = event.event_id, ...more] = headerValues(options.headers, name);
  if (more.length > 0) return reject("event_id_doubled", `the header ${name} came ${more.length + 1} times`);
  if (claimed !== event.event_id)
    return reject("event_id_mismatch", `the header ${name} is not the event_id of the signed body`);
  return { ok: true, eventId: event.event_id, timestamp: verdict.timestamp, event };
}

type Check = (value: unknown) => boolean;
type Checks<Shape> = Readonly<Record<keyof Shape, Check>>;

const isText: Check = (value) => typeof value === "string" && value !== "";
const isBoolean: Check = (value) => typeof value === "boolean";
const isWhole: Check = Number.isSafeInteger;
const isStatus: Check = (value) => STATUSES.some((status) => status === value);

const ENVELOPE: Checks<WebhookEnvelope & Pick<WebhookEvent, "type">> = {
  event_id: isText,
  type: isText,
  created_at: isText,
  api_version: isText,
  livemode: isBoolean,
  store_id: isText,
};
const CHANGE: Checks<Omit<WebhookChange, keyof typeof ENVELOPE>> = {
  sequence: isWhole,
  previous_status: (value) => value === null || isStatus(value),
  data: isRecord,
};
const CHECKOUT: Checks<WebhookCheckout> = {
  id: isText,
  object: (value) => value === "order" || value === "checkout_session",
  order_id: isText,
  amount_minor: isWhole,
  currency: isText,
  status: isStatus,
  checkout_url: isText,
  livemode: isBoolean,
};

/** The fields of an event in the order in which the service writes them (decision 11), and those of its `data`. */
export const EVENT_FIELDS = Object.keys({ ...ENVELOPE, ...CHANGE });
export const FIELDS_OF_CHECKOUT = Object.keys(CHECKOUT);

/** The first field that is invalid for an event; undefined if all are valid. Additional fields are accepted. */
function faultyField(body: unknown): string | undefined {
  if (!isRecord(body)) return "the whole";
  const envelope = firstFault(body, ENVELOPE);
  if (envelope !== undefined || body["type"] === "webhook.test") return envelope;
  const change = firstFault(body, CHANGE);
  if (change !== undefined) return change;
  const field = firstFault(body["data"] as Record<string, unknown>, CHECKOUT);
  return field && `data.${field}`;
}

function firstFault(
  fields: Readonly<Record<string, unknown>>,
  checks: Readonly<Record<string, Check>>,
): string | undefined {
  return Object.entries(checks).find(([field, check]) => !check(fields[field]))?.[0];
}
