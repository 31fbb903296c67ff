// Types of webhooks and of their verification, also exported by `hosted-checkout/webhooks`.
import { STATUSES } from "../checkout/checkout.ts";
import type { CheckoutWire } from "../checkout/wire-shapes.ts";
import { isRecord } from "../json.ts";

/** Names of a delivery's headers, configurable because the interface does not fix the names (decision 12). */
export type HeaderNames = {
  readonly eventId: string;
  readonly timestamp: string;
  readonly signature: string;
};

/**
 * The headers of a request: as in Fetch, as in Node (`request.headers`), as raw lines with alternating names and values
 * (`request.rawHeaders`), or as pairs of name and value, in an array or a Map. Only raw lines show reliably that a
 * header was repeated.
 */
export type WebhookHeaders =
  | { readonly get: (name: string) => string | null }
  | Readonly<Record<string, HeaderValue>>
  | readonly string[]
  | Iterable<HeaderLine>;

/** A name and its value; several values of one name form an array. */
export type HeaderLine = readonly [name: string, value: HeaderValue];
type HeaderValue = string | readonly string[] | undefined;

export type VerifyOptions = {
  /** The body exactly as it arrived, before any parser; a string stands for its UTF-8 bytes. */
  readonly rawBody: Uint8Array | ArrayBuffer | string;
  readonly headers: WebhookHeaders;
  /** The active signing secrets, with `whsec_`. One is enough; during a rotation, pass both. */
  readonly secrets: string | readonly string[];
  /** Maximum difference between timestamp and now, in seconds; 0 means the same second. Default: 300. */
  readonly toleranceSeconds?: number;
  /** Header names, if the service does not use `Checkout-Event-Id`, `Checkout-Timestamp` and `Checkout-Signature`. */
  readonly headerNames?: HeaderNames;
};

/** Why a signature is refused, in the order of the checks. */
export type SignatureCode =
  | "secret_missing"
  | "secret_malformed"
  | "body_not_raw"
  | "timestamp_missing"
  | "timestamp_doubled"
  | "timestamp_malformed"
  | "signature_missing"
  | "signature_doubled"
  | "signature_malformed"
  | "signature_mismatch"
  | "timestamp_too_old"
  | "timestamp_too_new";

/** A refusal: its code, and a message for the developer. */
export type Rejection<Code extends string> = {
  readonly ok: false;
  readonly code: Code;
  readonly message: string;
};

/** The verified timestamp of a request, or the reason for a refusal. */
export type SignatureVerdict =
  | {
      readonly ok: true;
      /** Unix time at which this attempt was signed, in seconds. */
      readonly timestamp: number;
    }
  | Rejection<SignatureCode>;

/** The values of `status` (interface 13). */
export type WebhookStatus = CheckoutWire["status"];

/** An order or a checkout session at the time of its event (interface 12). */
export type WebhookCheckout = Readonly<CheckoutWire>;

/** The fields of every event (decision 11). */
type WebhookEnvelope = {
  /** The event's id, the same in every delivery: handle each id once. */
  readonly event_id: string;
  /** Creation time of the event, ISO 8601. */
  readonly created_at: string;
  readonly api_version: string;
  readonly livemode: boolean;
  readonly store_id: string;
};

/** A change of an order or a checkout session. */
export type WebhookChange = WebhookEnvelope & {
  /** Later versions of the service may send other types: ignore them. */
  readonly type: `${WebhookCheckout["object"]}.${WebhookStatus}`;
  /**
   * The position of the event among the events of its order or session, from 1. Ignore an event with a lower position
   * than one you have handled.
   */
  readonly sequence: number;
  readonly previous_status: WebhookStatus | null;
  readonly data: WebhookCheckout;
};

/** A test of the endpoint; no order changed. */
export type WebhookTest = WebhookEnvelope & { readonly type: "webhook.test"; readonly data?: unknown };

/** The body of a webhook. */
export type WebhookEvent = WebhookChange | WebhookTest;

/**
 * Checks the value of a field.
 * @internal
 */
export type Check = (value: unknown) => boolean;
type Checks<Shape> = Readonly<Record<keyof Shape, Check>>;

const isText: Check = (value) => typeof value === "string" && value !== "";
const isBoolean: Check = (value) => typeof value === "boolean";
const isWholeNumber: Check = Number.isSafeInteger;
const isStatus: Check = (value) => STATUSES.some((status) => status === value);

const ENVELOPE_CHECKS: Checks<WebhookEnvelope & Pick<WebhookEvent, "type">> = {
  event_id: isText,
  type: isText,
  created_at: isText,
  api_version: isText,
  livemode: isBoolean,
  store_id: isText,
};
const CHANGE_CHECKS: Checks<Omit<WebhookChange, keyof typeof ENVELOPE_CHECKS>> = {
  sequence: isWholeNumber,
  previous_status: (value) => value === null || isStatus(value),
  data: isRecord,
};
const DATA_CHECKS: Checks<CheckoutWire> = {
  id: isText,
  object: (value) => value === "order" || value === "checkout_session",
  order_id: isText,
  amount_minor: isWholeNumber,
  currency: isText,
  status: isStatus,
  checkout_url: isText,
  livemode: isBoolean,
};

/**
 * Not a schema, so that a merchant's server loads no schema library.
 * @internal
 */
export const CHECKS = { envelope: ENVELOPE_CHECKS, change: CHANGE_CHECKS, checkout: DATA_CHECKS };

/**
 * Checks for event types of later versions of the service; their statuses may be new too.
 * @internal
 */
export const LENIENT_CHECKS: typeof CHECKS = {
  envelope: ENVELOPE_CHECKS,
  change: { ...CHANGE_CHECKS, previous_status: (value) => value === null || isText(value) },
  checkout: { ...DATA_CHECKS, status: isText },
};

/** Why a webhook is refused: its signature, a signed body that is not an event, or a repeated or wrong event id. */
export type WebhookCode = SignatureCode | "event_invalid" | "event_id_doubled" | "event_id_mismatch";

/** A trusted webhook, or the reason why it cannot be trusted. */
export type WebhookVerdict =
  | {
      readonly ok: true;
      /** The event_id in the signed body. */
      readonly eventId: string;
      /** Unix time at which this attempt was signed, in seconds. */
      readonly timestamp: number;
      readonly event: WebhookEvent;
    }
  | Rejection<WebhookCode>;
