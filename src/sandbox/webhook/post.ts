import type { Hold } from "../../core/webhook/hold.ts";
import { MAX_ANSWER_BYTES, type DeliveryError } from "../../core/webhook/delivery.ts";
import { isPullListenerUrl } from "../../core/webhook/endpoint.ts";
import { orderIdIn } from "../../core/request/logged-request.ts";
import { redactStored } from "../../core/request/redaction.ts";
import { parseCertificates } from "../../core/webhook/certificates.ts";
import { checkCa, filterAddresses, parseTarget, type TargetPolicy } from "../../core/webhook/target.ts";
import { answerFacts, MAX_FACT_SIZE, type AttemptFacts } from "../../core/network/connection-fault.ts";
import { cutText, redactSecrets } from "../../core/text.ts";
import type { OutboundRequest, OutboundResult, TlsTrust, World } from "../../world.ts";
import type { Relay } from "./relay.ts";

export type PostContext = {
  readonly world: Pick<World, "send" | "resolve" | "monotonic">;
  readonly targets: TargetPolicy;
  readonly relay: Relay;
  readonly deliveryTimeoutMs: number;
  /** How https receivers are trusted. Default: by the system's certificates. */
  readonly deliveryTls?: TlsTrust | undefined;
  readonly holdOf: (storeId: string) => Hold | undefined;
};

/** `forbidden`: nothing was sent, because the target policy or a hold forbids it. */
export type PostResult = { readonly result: OutboundResult | "forbidden"; readonly milliseconds: number };

/**
 * Resolves the name at each call, because the target policy applies to its current addresses (decision 14). Must not be
 * called inside a transaction.
 */
export async function postToReceiver(
  { world, targets, relay, deliveryTimeoutMs, deliveryTls, holdOf }: PostContext,
  {
    storeId,
    ca,
    ...requestFields
  }: Omit<
    OutboundRequest,
    "method" | "timeoutMs" | "maxResponseBytes" | "oversize" | "addresses" | "examine" | "onEnd" | "tls"
  > & {
    readonly body: string | Uint8Array;
    readonly storeId: string;
    readonly ca: string | null;
    readonly method?: OutboundRequest["method"];
  },
): Promise<PostResult> {
  const { url } = requestFields;
  const startedAt = world.monotonic();
  let endedAt: number | undefined;
  const toPostResult = (result: PostResult["result"]): PostResult => ({
    // Answers are stored, so secrets that a receiver prints or echoes are redacted.
    result:
      result !== "forbidden" && result.ok && result.body !== ""
        ? { ...result, body: redactStored(result.body, orderIdIn(String(requestFields.body))) }
        : result,
    milliseconds: Math.round((endedAt ?? world.monotonic()) - startedAt),
  });
  if (isPullListenerUrl(url) && holdOf(storeId) === undefined) {
    const { headers, body } = requestFields;
    const request = { storeId, url, headers, body: Buffer.from(body).toString() };
    return toPostResult(await relay.send(request, deliveryTimeoutMs));
  }
  const target = parseTarget(url, targets);
  const isTrustable = ca === null || (checkCa(url, ca, targets).ok && parseCertificates(ca).ok);
  if (!target.ok || !isTrustable || holdOf(storeId) !== undefined) return toPostResult("forbidden");
  const resolvedAddresses = target.value.addresses === null ? await world.resolve(target.value.host) : [];
  const addresses = filterAddresses(target.value, resolvedAddresses, targets);
  if (!addresses.ok) return toPostResult(resolvedAddresses.length === 0 ? UNRESOLVED_HOST : "forbidden");
  const result = await world.send({
    method: "POST",
    ...requestFields,
    timeoutMs: deliveryTimeoutMs,
    maxResponseBytes: MAX_ANSWER_BYTES + MAX_SECRET_BYTES,
    oversize: "cut",
    examine: true,
    onEnd: () => (endedAt = world.monotonic()),
    tls: ca === null ? deliveryTls : { ca },
    addresses: addresses.value,
  });
  return toPostResult(result);
}

const MAX_SECRET_BYTES = 256;

export function deliveryErrorOf({
  failure,
}: Pick<Extract<OutboundResult, { ok: false }>, "failure">): DeliveryError {
  return failure === "aborted" ? "connection_lost" : failure;
}

const UNRESOLVED_HOST: OutboundResult = {
  ok: false,
  failure: "unreachable",
  message: "the host name has no address",
  facts: { fault: "no_address" },
};

/** Facts that the status or error does not state; null if there are none. */
export function attemptFactsOf(result: PostResult["result"]): AttemptFacts | null {
  if (result === "forbidden") return null;
  const answerFields = result.ok ? answerFacts(result.headers) : { ...result.facts, message: result.message };
  const facts = Object.entries(answerFields).map(([name, value]) => [
    name,
    typeof value === "string" ? cutText(redactSecrets(value), MAX_FACT_SIZE) : value,
  ]);
  return facts.length === 0 ? null : (Object.fromEntries(facts) as AttemptFacts);
}
