import {
  BAD_ANSWER,
  isCredentialAccepted,
  type CreateProbe,
  type ServiceAnswer,
  type ServiceProbe,
} from "../../core/readiness/probed-service.ts";
import { parseAuthorization } from "../../core/credential.ts";
import { parseJson } from "../../core/json.ts";
import { cutText } from "../../core/text.ts";
import { checkoutResponse, errorResponse } from "../../core/checkout/wire.ts";
import type { OutboundResult, World } from "../../world.ts";
import { buildCreateRequest, buildRetrieveRequest, type ServiceTarget } from "./client.ts";
import type { ApiRequest } from "./exchange.ts";

/** The terms of the order that the probe creates. Nobody pays the order. */
export const PROBE_TERMS = { amount_minor: 100, currency: "CNY", payment_method: "alipay_plus" } as const;

const MAX_RESPONSE_BYTES = 64 * 1024;
const MAX_REQUEST_ID = 100;
const NAME_BYTES = 8;

type ProbeWorld = Pick<World, "send" | "now" | "uuid" | "randomBytes">;
type ProbeOptions = { readonly timeoutMs: number; readonly signal: AbortSignal };

/**
 * Probes the launch readiness of a service through v1: whether it accepts the credential and, if that is a test
 * credential, how it answers an order that is sent twice, and once with another body. Nothing is resent after a
 * failure.
 */
export async function probeService(
  world: ProbeWorld,
  target: ServiceTarget,
  options: ProbeOptions,
): Promise<ServiceProbe> {
  const ask = (request: ApiRequest): Promise<ProbeResult> => askOnce(world, request, options);
  const { answer: retrieve } = await ask(buildRetrieveRequest(target, world.uuid()));
  const presented = parseAuthorization([`Bearer ${target.apiKey}`]);
  const isLive = presented.ok && presented.value.kind === "live";
  if (isLive || !isCredentialAccepted(retrieve)) return { retrieve, create: null };
  const name = Buffer.from(world.randomBytes(NAME_BYTES)).toString("hex");
  return { retrieve, create: await probeCreate(target, name, ask) };
}

type ProbeResult = { readonly answer: ServiceAnswer; readonly body: string };

async function probeCreate(
  target: ServiceTarget,
  name: string,
  ask: (request: ApiRequest) => Promise<ProbeResult>,
): Promise<CreateProbe> {
  const [orderId, key] = [`checklist-${name}`, `checkout-checklist-${name}`];
  const request = (amountMinor: number): ApiRequest => {
    const body = { order_id: orderId, ...PROBE_TERMS, amount_minor: amountMinor };
    return buildCreateRequest(target, { endpoint: "orders", key, body: JSON.stringify(body) });
  };
  const terms = `${PROBE_TERMS.payment_method} in ${PROBE_TERMS.currency}`;
  const first = await ask(request(PROBE_TERMS.amount_minor));
  const probe = { key, orderId, terms, first: first.answer };
  if (first.answer.checkoutId === null || first.answer.live) return { ...probe, repeats: null };
  const same = await ask(request(PROBE_TERMS.amount_minor));
  const other = await ask(request(PROBE_TERMS.amount_minor + 1));
  const sameBytes = same.body === first.body;
  return { ...probe, repeats: { same: same.answer, sameBytes, other: other.answer } };
}

async function askOnce(
  { send, now }: ProbeWorld,
  request: ApiRequest,
  { timeoutMs, signal }: ProbeOptions,
): Promise<ProbeResult> {
  const result = await send({ ...request, timeoutMs, maxResponseBytes: MAX_RESPONSE_BYTES, signal });
  return { answer: { ...read(result), at: now() }, body: result.ok ? result.body : "" };
}

function read(result: OutboundResult): Omit<ServiceAnswer, "at"> {
  const nothing = { requestId: null, checkoutId: null, live: false };
  if (!result.ok) return { ...nothing, status: null, code: result.failure };
  const { status } = result;
  const body = parseJson(result.body);
  const refused = errorResponse.safeParse(body).data;
  if (refused !== undefined) {
    const requestId = cutText(refused.request_id, MAX_REQUEST_ID);
    return { ...nothing, status, code: refused.error.code, requestId };
  }
  const made = checkoutResponse.safeParse(body).data;
  if (made === undefined || status >= 300) return { ...nothing, status, code: BAD_ANSWER };
  const { id: checkoutId, livemode: live } = made.data;
  return { status, code: null, requestId: made.request_id, checkoutId, live };
}
