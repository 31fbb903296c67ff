/** `hosted-checkout/webhooks`: runs in the merchant's program, and therefore reads the clock itself. */
import type { Dialect } from "./core/shape/dialect.ts";
import { verifyWebhook as verifyAt } from "./core/webhook/verify.ts";
import {
  verifySignature as verifySignatureAt,
  withHeaderNames,
  type VerifyInput,
} from "./core/webhook/signature.ts";
import type { HeaderLine, SignatureVerdict, VerifyOptions, WebhookVerdict } from "./core/webhook/webhook.ts";

export type { Dialect } from "./core/shape/dialect.ts";
export type {
  HeaderNames,
  SignatureCode,
  SignatureVerdict,
  VerifyOptions,
  WebhookChange,
  WebhookCheckout,
  WebhookCode,
  WebhookEvent,
  WebhookHeaders,
  WebhookStatus,
  WebhookTest,
  WebhookVerdict,
} from "./core/webhook/webhook.ts";

/** `now`: the current time in milliseconds since the epoch. Default: `Date.now()`. */
export type Clock = { readonly now?: number };

/** `dialect`: the names of another service, as `calibrate --write-dialect` writes them. Default: the names of v1. */
export type WebhookOptions = VerifyOptions & { readonly dialect?: Dialect };

/**
 * Verifies the signature, timestamp and event of a webhook. Returns the event, or a code and a message that explains
 * the refusal. Throws a TypeError for a mistake in the call, such as `headers` that are not headers, but never because
 * of what the request contains (interface 29, 30).
 */
export function verifyWebhook(options: WebhookOptions & Clock): WebhookVerdict {
  return verifyAt(addTime(options));
}

/** Verifies only signature and timestamp, for services whose bodies are not events of version 1.0.0-test. */
export function verifySignature(options: WebhookOptions & Clock): SignatureVerdict {
  return verifySignatureAt(addTime(options));
}

/** Checks `options` at run time, because a JavaScript caller can pass anything. */
function addTime(options: WebhookOptions & Clock): VerifyInput {
  if (typeof options !== "object" || options === null)
    throw new TypeError("a verification needs one object: { rawBody, headers, secrets }");
  const { headers, headerNames: names, now = Date.now(), ...keyOptions } = options;
  const dialect = names === undefined ? keyOptions.dialect : withHeaderNames(keyOptions.dialect, names);
  return { ...keyOptions, dialect, headers: keepHeaders(headers), now };
}

/** Copies an iterator such as `headers.entries()`, because it can be read only once. */
function keepHeaders(headers: VerifyOptions["headers"]): VerifyOptions["headers"] {
  const isIterator = typeof headers === "object" && headers !== null && "next" in headers;
  return isIterator && Symbol.iterator in headers ? Array.from(headers as Iterable<HeaderLine>) : headers;
}
