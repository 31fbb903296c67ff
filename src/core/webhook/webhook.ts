/** What a webhook is, and what a verification says of it. Types alone: they are also the types of `hosted-checkout/webhooks`. */
/** Names of the headers that a delivery carries (decision 12). The interface names none, so they are a setting. */
export type HeaderNames = {
  readonly eventId: string;
  readonly timestamp: string;
  readonly signature: string;
};

/**
 * The headers of a request: as Fetch has them, as Node has them (`request.headers`), or as they stood on the wire, names
 * and values alternating (`request.rawHeaders`). Only the last shows for certain that one came twice.
 */
export type WebhookHeaders =
  | { readonly get: (name: string) => string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | readonly string[];

/** What a request is verified by. */
export type VerifyOptions = {
  /** The body exactly as it arrived, before any parser; text stands for its UTF-8 bytes. */
  readonly rawBody: Uint8Array | string;
  readonly headers: WebhookHeaders;
  /** The signing secrets in force, `whsec_` included. One is enough; during a rotation give both. */
  readonly secrets: string | readonly string[];
  /** Seconds that the timestamp may lie before or after now; 0 means the same second. Default: 300. */
  readonly toleranceSeconds?: number;
  /** Where the service names its headers otherwise. */
  readonly headerNames?: HeaderNames;
};

/** Why a signature is refused. The list is closed. */
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

/** A refusal: its code, and a sentence for the person who has to find the fault. */
export type Rejection<Code extends string> = {
  readonly ok: false;
  readonly code: Code;
  readonly message: string;
};

/** The request was signed with one of the secrets within the tolerance, or why that is not so. */
export type SignatureVerdict =
  | {
      readonly ok: true;
      /** Unix seconds at which this attempt was signed. */
      readonly timestamp: number;
    }
  | Rejection<SignatureCode>;

/** The values of `status` (interface 13). */
export type WebhookStatus = "created" | "pending" | "succeeded" | "failed" | "cancelled" | "expired";

/** What an order or a checkout session looked like when its event was made (interface 12). */
export type WebhookCheckout = {
  readonly id: string;
  readonly object: "order" | "checkout_session";
  readonly order_id: string;
  readonly amount_minor: number;
  readonly currency: string;
  readonly status: WebhookStatus;
  readonly checkout_url: string;
  readonly livemode: boolean;
};

/** What every event says of itself (decision 11). */
export type WebhookEnvelope = {
  /** The same in every delivery of the event: handle it once. */
  readonly event_id: string;
  /** When it happened, ISO 8601. */
  readonly created_at: string;
  readonly api_version: string;
  readonly livemode: boolean;
  readonly store_id: string;
};

/** Something happened to an order or a checkout session. */
export type WebhookChange = WebhookEnvelope & {
  /** A type that is not listed can come from a later version of the service: ignore it. */
  readonly type: `${WebhookCheckout["object"]}.${WebhookStatus}`;
  /** Counts from 1 for each order or session: a lower one that arrives later is old news. */
  readonly sequence: number;
  readonly previous_status: WebhookStatus | null;
  readonly data: WebhookCheckout;
};

/** A test of the endpoint: nothing happened. */
export type WebhookTest = WebhookEnvelope & { readonly type: "webhook.test"; readonly data?: unknown };

/** The body of a webhook. */
export type WebhookEvent = WebhookChange | WebhookTest;

/** Why a webhook is refused: its signature, or a signed body that is no event, or a header that contradicts it. */
export type WebhookCode = SignatureCode | "event_invalid" | "event_id_doubled" | "event_id_mismatch";

/** A webhook that can be trusted, or why it cannot. */
export type WebhookVerdict =
  | {
      readonly ok: true;
      /** The event_id of the signed body. */
      readonly eventId: string;
      /** Unix seconds at which this attempt was signed. */
      readonly timestamp: number;
      readonly event: WebhookEvent;
    }
  | Rejection<WebhookCode>;
