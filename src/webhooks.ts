/** Runs in the merchant's program, so it uses that program's clock and not the World. */
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

/** The current time, in milliseconds since the epoch. Default: the machine's clock. */
export type Clock = { readonly now?: number };

/** `dialect`: as `calibrate --write-dialect` writes it. Default: the names of the interface. */
export type WebhookOptions = VerifyOptions & { readonly dialect?: Dialect };

/**
 * Verifies a webhook over its raw body. Returns its event, or a code and a sentence that explains the refusal. No
 * request makes it throw; a mistake in the call, such as invalid headers, throws a TypeError that describes the mistake
 * (interface 29, 30).
 */
export function verifyWebhook(options: WebhookOptions & Clock): WebhookVerdict {
  return verifyAt(addTime(options));
}

/** Verifies only the signature, for services whose bodies are not events of version 1.0.0-test. */
export function verifySignature(options: WebhookOptions & Clock): SignatureVerdict {
  return verifySignatureAt(addTime(options));
}

/** A caller without types may have passed anything. */
function addTime(options: WebhookOptions & Clock): VerifyInput {
  if (typeof options !== "object" || options === null)
    throw new TypeError("a verification needs one object: { rawBody, headers, secrets }");
  const { headers, headerNames: names, now = Date.now(), ...keyOptions } = options;
  const dialect = names === undefined ? keyOptions.dialect : withHeaderNames(keyOptions.dialect, names);
  return { ...keyOptions, dialect, headers: keepHeaders(headers), now };
}

/** An iterator such as `headers.entries()` can be read only once. */
function keepHeaders(headers: VerifyOptions["headers"]): VerifyOptions["headers"] {
  const isIterator = typeof headers === "object" && headers !== null && "next" in headers;
  return isIterator && Symbol.iterator in headers ? Array.from(headers as Iterable<HeaderLine>) : headers;
}
