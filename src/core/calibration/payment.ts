import { STATUSES } from "../checkout/checkout.ts";
import { decodeUtf8, isRecord, parseJson } from "../json.ts";
import { isSigningSecret } from "../webhook/sealed-secret.ts";
import {
  DEFAULT_TOLERANCE_SECONDS,
  DEFAULT_HEADER_NAMES,
  headerValues,
  verifySignature,
} from "../webhook/signature.ts";
import { EVENT_FIELDS } from "../webhook/verify.ts";
import { CHECKS, type Check } from "../webhook/webhook.ts";
import type { ProbeAnswer } from "./probes.ts";

export type ReceivedRequest = {
  /** Time of arrival, in milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly body: Uint8Array;
  readonly answerCode: number;
};

export type PaymentEvidence = {
  /** The receiver refuses the first delivery once, so that the service retries it. */
  readonly deliveries: readonly ReceivedRequest[];
  readonly visit: ReceivedRequest | undefined;
  readonly retrieval: ProbeAnswer | undefined;
  readonly secrets: readonly string[];
};

export type PaidOrder = { readonly id: unknown; readonly orderId: string };

export const RETURN_PATH = "/return";
export const WEBHOOK_PATH = "/hooks";
export const PAID_STATUS = "succeeded";

export type PaymentVerdict = {
  readonly verdict: "confirmed" | "contradicted" | "not_observed";
  readonly expected: string;
  readonly evidence?: ReceivedRequest | ProbeAnswer | undefined;
};

export const PAYMENT_JUDGES: ReadonlyMap<
  number,
  (evidence: PaymentEvidence, order: PaidOrder) => PaymentVerdict
> = new Map([
  [10, judgeStates],
  [11, judgeEvents],
  [12, judgeHeaders],
  [13, judgeSchedule],
  [16, judgeSecret],
  [19, judgeReturn],
  [88, judgeReturnPath],
]);

const NO_DELIVERY_VERDICT = unobservedVerdict("no event of the order reached the receiver");
const NO_SECRET_VERDICT = unobservedVerdict("no signing secret was given: --secret-file");
const NO_RETURN_VERDICT = unobservedVerdict(`no browser returned to ${RETURN_PATH} of the receiver`);

/** Decision 13 delays the second attempt by 5 s ± 20 %; these wider limits allow for a slow network. */
const SECOND_ATTEMPT_DELAY_MS = { minimum: 3500, maximum: 9000 };

function unobservedVerdict(expected: string): PaymentVerdict {
  return { verdict: "not_observed", expected };
}

function verdictOf(holds: boolean, expected: string, evidence: PaymentVerdict["evidence"]): PaymentVerdict {
  return { verdict: holds ? "confirmed" : "contradicted", expected, evidence };
}

export function eventInRequest({ body }: ReceivedRequest): Readonly<Record<string, unknown>> {
  const value = parseJson(decodeUtf8(body) ?? "");
  return isRecord(value) ? value : {};
}

function dataOf(event: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { data } = event;
  return isRecord(data) ? data : {};
}

function judgeStates({ deliveries, retrieval }: PaymentEvidence): PaymentVerdict {
  if (retrieval === undefined) return unobservedVerdict("the order could not be retrieved after its payment");
  const status = dataOf(retrieval.body)["status"];
  // A calibration takes less than half an hour, so an order that has expired was not payable for an hour.
  if (status === "expired") return verdictOf(false, "payable for an hour", retrieval);
  if (status !== PAID_STATUS && STATUSES.some((candidate) => candidate === status))
    return unobservedVerdict(`the order was not paid; it is ${String(status)}`);
  const statuses = new Set(deliveries.map((delivery) => dataOf(eventInRequest(delivery))["status"]));
  statuses.delete(undefined);
  const statusesText = [...statuses].join(", ");
  const isInOrder = statusesText === "" || /^(?:created, )?pending, succeeded$/.test(statusesText);
  return verdictOf(status === PAID_STATUS && isInOrder, "created, then pending, then succeeded", retrieval);
}

function judgeEvents({ deliveries }: PaymentEvidence): PaymentVerdict {
  const [lastDelivery] = deliveries.slice(-1);
  if (lastDelivery === undefined) return NO_DELIVERY_VERDICT;
  const failure = deliveries.find((delivery) => !isOurEvent(eventInRequest(delivery)));
  return verdictOf(
    failure === undefined,
    `order.<status> with ${EVENT_FIELDS.join(", ")}, and in data the fields of an answer`,
    failure ?? lastDelivery,
  );
}

function isOurEvent(delivery: Readonly<Record<string, unknown>>): boolean {
  const data = dataOf(delivery);
  return (
    hasFields(delivery, { ...CHECKS.envelope, ...CHECKS.change }) &&
    hasFields(data, CHECKS.checkout) &&
    delivery["type"] === `order.${String(data["status"])}`
  );
}

function hasFields(
  value: Readonly<Record<string, unknown>>,
  checks: Readonly<Record<string, Check>>,
): boolean {
  const isComplete = Object.entries(checks).every(
    ([field, check]) => Object.hasOwn(value, field) || check(undefined),
  );
  return isComplete && Object.keys(value).every((field) => Object.hasOwn(checks, field));
}

function verdictOnSignature(delivery: ReceivedRequest, secrets: readonly string[]) {
  const { at: now, rawHeaders: headers, body: rawBody } = delivery;
  return verifySignature({ rawBody, headers, secrets, now });
}

function judgeHeaders({ deliveries, secrets }: PaymentEvidence): PaymentVerdict {
  const [lastDelivery] = deliveries.slice(-1);
  if (lastDelivery === undefined) return NO_DELIVERY_VERDICT;
  const names = Object.values(DEFAULT_HEADER_NAMES);
  const expectedText = `${names.join(", ")}, signed within ${DEFAULT_TOLERANCE_SECONDS} s`;
  const failure = deliveries.find(({ rawHeaders }) =>
    names.some((name) => headerValues(rawHeaders, name).length !== 1),
  );
  if (failure !== undefined) return verdictOf(false, expectedText, failure);
  if (secrets.length === 0) return NO_SECRET_VERDICT;
  // A mismatch may come from a wrong secret, so it says nothing about the headers.
  const verdicts = deliveries.map((delivery) => [delivery, verdictOnSignature(delivery, secrets)] as const);
  const row = verdicts.find(([, verdict]) => !verdict.ok && verdict.code !== "signature_mismatch");
  if (row !== undefined) return verdictOf(false, expectedText, row[0]);
  const hasMismatch = verdicts.some(([, verdict]) => !verdict.ok);
  return hasMismatch
    ? unobservedVerdict("no signature matches the given secret")
    : verdictOf(true, expectedText, lastDelivery);
}

function judgeSchedule({ deliveries }: PaymentEvidence): PaymentVerdict {
  const [firstDelivery] = deliveries;
  if (firstDelivery === undefined) return NO_DELIVERY_VERDICT;
  const secondAttempt = deliveries.find(
    (delivery) => delivery !== firstDelivery && Buffer.compare(delivery.body, firstDelivery.body) === 0,
  );
  const delayMs = secondAttempt === undefined ? undefined : secondAttempt.at - firstDelivery.at;
  const { minimum, maximum } = SECOND_ATTEMPT_DELAY_MS;
  const holds = delayMs !== undefined && delayMs >= minimum && delayMs <= maximum;
  return verdictOf(holds, `the same event again about 5 s after ${firstDelivery.answerCode}`, firstDelivery);
}

function judgeSecret({ deliveries, secrets }: PaymentEvidence): PaymentVerdict {
  const [lastDelivery] = deliveries.slice(-1);
  if (lastDelivery === undefined) return NO_DELIVERY_VERDICT;
  if (secrets.length === 0) return NO_SECRET_VERDICT;
  const codes = deliveries.map((delivery) => {
    const verdict = verdictOnSignature(delivery, secrets);
    return verdict.ok ? "ok" : verdict.code;
  });
  // The signature is checked before the age, so `timestamp_too_old` implies a valid signature.
  const isSigned = codes.every((code) => /^(?:ok|signature_mismatch|timestamp_too_(?:old|new))$/.test(code));
  if (!isSigned) return unobservedVerdict("no delivery has the headers of a signature");
  const matchesSecrets = !codes.includes("signature_mismatch");
  return verdictOf(
    matchesSecrets && secrets.every(isSigningSecret),
    "whsec_…, the whole text being the key of the signature",
    lastDelivery,
  );
}

function judgeReturn({ visit }: PaymentEvidence, { id, orderId }: PaidOrder): PaymentVerdict {
  if (visit === undefined) return NO_RETURN_VERDICT;
  const query = new URL(visit.target, "http://localhost").searchParams;
  const holds =
    [...query.keys()].toSorted().join() === "order_id,session_id" &&
    query.get("order_id") === orderId &&
    query.get("session_id") === id;
  return verdictOf(holds, "the query contains only order_id and session_id", visit);
}

function judgeReturnPath({ visit }: PaymentEvidence): PaymentVerdict {
  if (visit === undefined) return NO_RETURN_VERDICT;
  const { pathname } = new URL(visit.target, "http://localhost");
  return verdictOf(pathname === RETURN_PATH, `the registered path: ${RETURN_PATH}`, visit);
}
