import { readAuditedHeaders, reconstructDeliveryRequest } from "../../core/webhook/delivery-request.ts";
import { verifySignature } from "../../core/webhook/signature.ts";
import type { SignatureVerdict } from "../../core/webhook/webhook.ts";
import type { FaultAction } from "../../core/fault/actions.ts";
import type { Delivery } from "../../store/webhook/deliveries.ts";
import type { DeliveryAttempt } from "../../store/webhook/delivery-attempts.ts";
import { endpointSecretsAt, type SecretsContext, type SecretsAtTime } from "./endpoint-secrets.ts";

export type SentAttempt = {
  /** The headers by name, with the signature if it can be reconstructed. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body; undefined if the audit shows that the event's bytes were not sent. */
  readonly body: string | undefined;
  readonly signing: SigningSecrets;
};

/**
 * The signing secrets of an attempt, which the audit does not store. `rotated`: a secret changed at the moment of the
 * attempt. `unlike`: the event as stored does not match the audit.
 */
export type SigningSecrets =
  | { readonly isKnown: false; readonly reason: "rotated" | "unlike" }
  | {
      readonly isKnown: true;
      readonly owner: SecretsAtTime["owner"];
      readonly secretCount: number;
      /** The fault that was applied to the attempt, which may have changed its signature or body. */
      readonly fault: FaultAction | null;
      /** Whether the sent body is the event's. */
      readonly isEventBody: boolean;
      /** The verdict of a receiver with the secrets that were active at the time of sending. */
      readonly verdict: SignatureVerdict;
      /** The time at which the attempt was sent, in Unix seconds. */
      readonly sentAt: number;
    };

/** Rebuilds an attempt with the function that sends attempts; omits body and signature if they cannot be rebuilt. */
export function reconstructAttempt(
  context: SecretsContext,
  { endpointId, storeId, eventId }: Pick<Delivery, "endpointId" | "storeId" | "eventId">,
  attempt: Pick<DeliveryAttempt, "startedAt" | "headers" | "bodyHash">,
): SentAttempt {
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
    return { headers, body: undefined, signing: { isKnown: false, reason: "unlike" } };
  if (isUncertain)
    return { headers, body: rebuiltRequest.body, signing: { isKnown: false, reason: "rotated" } };
  const { headers: sentHeaders, body: rawBody, isEventBody, realNow: now } = rebuiltRequest;
  const verdict = verifySignature({ rawBody, headers: sentHeaders, secrets, now, dialect });
  const fault = rebuiltRequest.fault?.action ?? null;
  const sentAt = Math.floor(now / 1000);
  const signer = { owner, secretCount: secrets.length };
  const signing = { isKnown: true, ...signer, fault, isEventBody, verdict, sentAt } as const;
  return { headers: sentHeaders, body: rawBody, signing };
}
