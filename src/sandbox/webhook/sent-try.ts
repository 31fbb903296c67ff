import { auditedHeadersOf, deliveryRequestAgain } from "../../core/webhook/delivery-request.ts";
import { verifySignature } from "../../core/webhook/signature.ts";
import type { SignatureVerdict } from "../../core/webhook/webhook.ts";
import type { FaultAction } from "../../core/fault/actions.ts";
import type { Delivery } from "../../store/webhook/deliveries.ts";
import type { DeliveryAttempt } from "../../store/webhook/delivery-attempts.ts";
import { endpointSecretsAt, type SecretsContext, type SecretsThen } from "./endpoint-secrets.ts";

/** A try of a delivery as it was sent, made again from its audit. */
export type SentAttempt = {
  /** Names and values, with the signature where that can be made again. */
  readonly headers: Readonly<Record<string, string>>;
  /** The bytes of the body; undefined where the audit says that others were sent. */
  readonly body: string | undefined;
  readonly signing: Signing;
};

/**
 * With what a try was signed, which the audit does not keep. `rotated`: the endpoint's secret was changed at that very
 * moment. `unlike`: what is made again is not what the audit says was sent.
 */
export type Signing =
  | { readonly known: false; readonly why: "rotated" | "unlike" }
  | {
      readonly known: true;
      readonly owner: SecretsThen["owner"];
      /** How many secrets were in force. */
      readonly secrets: number;
      /** The fault that it met, which may have signed or changed it otherwise. */
      readonly fault: FaultAction | null;
      /** What a receiver with the secrets in force had to find when it was sent. */
      readonly verdict: SignatureVerdict;
      /** Unix seconds at which it was sent. */
      readonly sentAt: number;
    };

/** Makes a try again as it was sent, with the function that sends; `undefined` as body and no signature where it cannot. */
export function sentTry(
  context: SecretsContext,
  { endpointId, storeId, eventId }: Pick<Delivery, "endpointId" | "storeId" | "eventId">,
  attempt: Pick<DeliveryAttempt, "startedAt" | "headers" | "bodyHash">,
): SentAttempt {
  const audited = { auditedHeaders: attempt.headers, bodyHash: attempt.bodyHash };
  const headers = auditedHeadersOf(audited);
  const then = endpointSecretsAt(context, { id: endpointId, storeId }, attempt.startedAt);
  const { inForce: secrets, retired: retiredSecrets, owner, isUncertain } = then;
  const body = context.store.events.find(eventId)?.body;
  const again =
    body === undefined
      ? undefined
      : deliveryRequestAgain(audited, { eventId, body, secrets, retiredSecrets });
  if (again === undefined) return { headers, body: undefined, signing: { known: false, why: "unlike" } };
  if (isUncertain) return { headers, body: again.body, signing: { known: false, why: "rotated" } };
  const { headers: sent, body: rawBody, realNow: now } = again;
  const verdict = verifySignature({ rawBody, headers: sent, secrets, now });
  const fault = again.fault?.action ?? null;
  const sentAt = Math.floor(now / 1000);
  const signing = { known: true, owner, secrets: secrets.length, fault, verdict, sentAt } as const;
  return { headers: sent, body: rawBody, signing };
}
