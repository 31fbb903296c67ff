/**
 * `hosted-checkout/webhooks`: what a merchant's server verifies webhooks with. It stands outside the World on purpose: it
 * runs in another program, whose clock it takes where none is given.
 */
import { verifyWebhook as verifyAt } from "./core/webhook/verify.ts";
import { verifySignature as verifySignatureAt } from "./core/webhook/signature.ts";
import type { SignatureVerdict, VerifyOptions, WebhookVerdict } from "./core/webhook/webhook.ts";

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

/** Milliseconds since the epoch, where another clock than the machine's is to count. */
export type Clock = { readonly now?: number };

/**
 * Verifies a webhook over its raw body and returns its event, or a code and a sentence that say why not. Never throws on
 * what a request brings; a tolerance that is no number from 0 is a TypeError (interface 29, 30).
 */
export function verifyWebhook(options: VerifyOptions & Clock): WebhookVerdict {
  return verifyAt({ ...options, now: options.now ?? Date.now() });
}

/** Verifies the signature alone, for a service whose bodies are not the events of version 1.0.0-test. */
export function verifySignature(options: VerifyOptions & Clock): SignatureVerdict {
  return verifySignatureAt({ ...options, now: options.now ?? Date.now() });
}
