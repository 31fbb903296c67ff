import { readAuditedHeaders, reconstructDeliveryRequest } from "../../core/webhook/delivery-request.ts";
import { verifySignature } from "../../core/webhook/signature.ts";
import type { Delivery } from "../../store/webhook/deliveries.ts";
import type { DeliveryAttempt } from "../../store/webhook/delivery-attempts.ts";
import { endpointSecretsAt, type SecretsContext } from "./endpoint-secrets.ts";

export type SentAttempt = ReturnType<typeof reconstructAttempt>;
export type SigningSecrets = SentAttempt["signing"];

/**
 * The signature is missing if the stored event does not match the audit (`unlike`) or a secret changed at that moment
 * (`rotated`). `verdict`: what a receiver with the secrets of that time finds; `sentAt`: Unix seconds.
 */
export function reconstructAttempt(
  context: SecretsContext,
  { endpointId, storeId, eventId }: Pick<Delivery, "endpointId" | "storeId" | "eventId">,
  attempt: Pick<DeliveryAttempt, "startedAt" | "headers" | "bodyHash">,
) {
  const auditedParts = { auditedHeaders: attempt.headers, bodyHash: attempt.bodyHash };
  const headers = readAuditedHeaders(attempt.headers);
  const secretsAtStart = endpointSecretsAt(context, { id: endpointId, storeId }, attempt.startedAt);
  const { inForce: secrets, retired: retiredSecrets, owner, isUncertain } = secretsAtStart;
  const body = context.store.events.find(eventId)?.body;
  const dialect = context.store.stores.dialect(storeId);
  const rebuiltRequest =
    body === undefined
      ? undefined
      : reconstructDeliveryRequest(auditedParts, { eventId, body, secrets, retiredSecrets, dialect });
  if (rebuiltRequest === undefined)
    return { headers, body: undefined, signing: { isKnown: false, reason: "unlike" } } as const;
  if (isUncertain)
    return { headers, body: rebuiltRequest.body, signing: { isKnown: false, reason: "rotated" } } as const;
  const { headers: sentHeaders, body: rawBody, isEventBody, realNow: now } = rebuiltRequest;
  const signing = {
    isKnown: true,
    owner,
    secretCount: secrets.length,
    fault: rebuiltRequest.fault?.action ?? null,
    isEventBody,
    verdict: verifySignature({ rawBody, headers: sentHeaders, secrets, now, dialect }),
    sentAt: Math.floor(now / 1000),
  } as const;
  return { headers: sentHeaders, body: rawBody, signing };
}
