import { checklistOf, itemOf, type ItemFinding } from "./checklist.ts";
import { CHECKLIST_ITEMS, type ItemName } from "./names.ts";
import type { Checklist, Evidence } from "./shapes.ts";

/** One answer of a service to a probe. `at` is milliseconds by this machine's clock. */
export type ServiceAnswer = {
  /** Null if there was no answer; `code` says why. */
  readonly status: number | null;
  /** The error code, or the failure of the connection; null if the answer is a checkout. */
  readonly code: string | null;
  readonly requestId: string | null;
  /** The id of the order in the answer. */
  readonly checkoutId: string | null;
  /** Whether the answer contains `livemode: true`. */
  readonly live: boolean;
  readonly at: number;
};

/** An order, sent twice with one key and once more with another body. */
export type CreateProbe = {
  readonly key: string;
  readonly orderId: string;
  /** The order's payment method and currency: `alipay_plus in CNY`. */
  readonly terms: string;
  readonly first: ServiceAnswer;
  /** Null if the first request created no test order that could be repeated. */
  readonly repeats: {
    readonly same: ServiceAnswer;
    readonly sameBytes: boolean;
    readonly other: ServiceAnswer;
  } | null;
};

/** The answers of a service to v1 requests. `create` is null if the credential was not accepted or is live. */
export type ServiceProbe = { readonly retrieve: ServiceAnswer; readonly create: CreateProbe | null };

const PORTAL_HINT = "look in the merchant portal of that service";
const OWN_REQUESTS =
  "shown by requests of checkout itself; a drill in the sandbox shows whether your client repeats its keys";
const OTHER_BYTES = "a replay had other bytes than the first answer; the sandbox repeats the same bytes";

/**
 * Judges the items for a service that is not a sandbox; `probe` is null if the service was not asked. Facts that v1
 * does not show are `unknown`, always including the production gate. `probeCommand` is the command that asks the
 * service.
 */
export function judgeService(probe: ServiceProbe | null, probeCommand: string): Checklist {
  const open = (what: string, next = probeCommand): ItemFinding => ({
    status: "unknown",
    reason: `${what}; ${PORTAL_HINT}`,
    next,
  });
  const findings = {
    production_credential:
      probe === null
        ? open("the service was not asked whether it accepts the credential")
        : credentialItem(probe.retrieve),
    store_active:
      probe === null
        ? open("the service was not asked to create an order")
        : storeItem(probe.create, probeCommand),
    return_origins: open("v1 does not show return origins", "checkout return-origins list"),
    webhook_verification: open("v1 does not show webhook endpoints", "checkout checklist run webhooks"),
    idempotency_replay:
      probe === null
        ? open("the service was not asked to answer a create twice")
        : idempotencyItem(probe.create, probeCommand),
    production_gate: open("v1 does not show the production gate", "checkout whoami"),
  } satisfies Record<ItemName, ItemFinding>;
  return checklistOf(CHECKLIST_ITEMS.map((name) => itemOf(name, findings[name])));
}

/** An accepted test credential proves nothing about a production credential. */
function credentialItem(retrieve: ServiceAnswer): ItemFinding {
  const { status, code } = retrieve;
  const evidence = [evidenceOf("GET of an unknown session", retrieve)];
  const conclude = (verdict: "fail" | "unknown", reason: string): ItemFinding => ({
    status: verdict,
    reason,
    evidence,
    next: "checkout whoami",
  });
  if (status === 401) return conclude("fail", "the service does not accept the API key");
  if (status === 403 && code === "production_approval_missing")
    return conclude("fail", "the service says that the approval for production is missing");
  if (status === 403)
    return conclude("unknown", `the service refuses the credential: ${answerText(retrieve)}`);
  if (isCredentialAccepted(retrieve)) {
    return conclude(
      "unknown",
      `the service accepts this credential in test mode; v1 does not show whether a production credential is approved; ${PORTAL_HINT}`,
    );
  }
  return conclude(
    "unknown",
    `the service did not say whether it accepts the credential: ${answerText(retrieve)}`,
  );
}

/** The code of an answer without the envelope of the interface. */
export const BAD_ANSWER = "bad_answer";

/** Whether an answer shows that the credential was accepted: refusals by later checks count. */
export function isCredentialAccepted({ status, code }: ServiceAnswer): boolean {
  if (status === null || code === BAD_ANSWER) return false;
  return status < 500 && ![401, 403, 408, 429].includes(status);
}

function storeItem(create: CreateProbe | null, next: string): ItemFinding {
  if (create === null) return notTriedFinding(next);
  const { first, terms } = create;
  const evidence = [evidenceOf(`an order by ${terms}`, first)];
  const conclude = (status: "fail" | "unknown", reason: string): ItemFinding => ({
    status,
    reason,
    evidence,
    next,
  });
  if (first.code === "store_inactive")
    return conclude("fail", "the service says that the store is not active");
  if (first.code === "capability_missing")
    return conclude("fail", `the service says that ${terms} is not active for the store`);
  if (first.checkoutId === null)
    return conclude("unknown", `the service created no order: ${answerText(first)}`);
  return conclude(
    "unknown",
    `the store is active for ${terms}; v1 does not show its other capabilities; ${PORTAL_HINT}`,
  );
}

function idempotencyItem(create: CreateProbe | null, next: string): ItemFinding {
  if (create === null) return notTriedFinding(next);
  const { first, repeats, orderId, key } = create;
  const evidence: Evidence[] = [
    evidenceOf(`order ${orderId} under key ${key}`, first),
    ...(repeats === null
      ? []
      : [
          evidenceOf("the repeated request", repeats.same),
          evidenceOf("another body with the key", repeats.other),
        ]),
  ];
  if (first.checkoutId === null || repeats === null)
    return { status: "unknown", reason: notRepeatedText(first), evidence, next };
  const fault = faultOf(repeats.same, first.checkoutId) ?? reuseFaultOf(repeats.other);
  if (fault !== undefined) return { ...fault, evidence, next };
  return {
    status: "pass",
    reason:
      "the service answered a repeated create with the same order, and refused another create with its key",
    evidence,
    assumptions: [OWN_REQUESTS, ...(repeats.sameBytes ? [] : [OTHER_BYTES])],
    next: "checkout checklist run idempotency",
  };
}

function notRepeatedText(first: ServiceAnswer): string {
  if (first.live) return "the service created a live order instead of a test order, so nothing was repeated";
  const doubt = first.status === null ? "; it may have created it anyway" : "";
  return `the service returned no order that could be repeated: ${answerText(first)}${doubt}`;
}

type Fault = { readonly status: "fail" | "unknown"; readonly reason: string };

function faultOf(same: ServiceAnswer, checkoutId: string): Fault | undefined {
  if (same.checkoutId === checkoutId) return undefined;
  if (same.checkoutId !== null)
    return { status: "fail", reason: "the same request with the same key created a second order" };
  const reason = `the same request with the same key was not answered with its order: ${answerText(same)}`;
  return { status: isCredentialAccepted(same) ? "fail" : "unknown", reason };
}

/** The fault of an answer to a reused key: an idempotency conflict is a 409 (interface 21). */
function reuseFaultOf(other: ServiceAnswer): Fault | undefined {
  if (other.status === 409) return undefined;
  if (other.checkoutId !== null)
    return {
      status: "fail",
      reason: "another body with the same key was accepted; the interface states 409",
    };
  const reason = `another body with the same key was answered with ${answerText(other)}; the interface states 409`;
  return { status: isCredentialAccepted(other) ? "fail" : "unknown", reason };
}

function notTriedFinding(next: string): ItemFinding {
  const reason = "no order was attempted, because the credential was not accepted or is a live credential";
  return { status: "unknown", reason, next };
}

function evidenceOf(what: string, answer: ServiceAnswer): Evidence {
  const { checkoutId, live, requestId, at } = answer;
  const made = checkoutId === null ? "" : `, ${live ? "live " : ""}order ${checkoutId}`;
  return { what: `${what}: ${answerText(answer)}${made}`, reference: requestId, at };
}

function answerText({ status, code }: ServiceAnswer): string {
  return [status, code].filter((part) => part !== null).join(" ") || "no answer";
}
