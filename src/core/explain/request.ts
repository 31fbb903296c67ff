import type { Checkout } from "../checkout/checkout.ts";
import { createRequestsFor, type CreateRequest } from "../checkout/create-request.ts";
import { CREATE_PATHS, fingerprint } from "../checkout/idempotency-key.ts";
import { faultReason } from "../fault/fault.ts";
import type { AppliedFault } from "../fault/shapes.ts";
import { parseJson } from "../json.ts";
import { isReplay, findHeader, type LoggedRequest, type RefusedRequest } from "../request/logged-request.ts";
import { redactStored } from "../request/redaction.ts";
import { english, type Translator } from "../language.ts";
import { valueText } from "../fact.ts";
import { factParts, isRefusalFact } from "../refusals.ts";
import { printable } from "../text.ts";
import { REFUSAL_CHECKS, checkOfCode, type RefusalCheck } from "./checks.ts";
import { NO_REFUSAL, type RequestDifference, type Explanation } from "./explanation.ts";
import { olderRefusalParts } from "./older-refusals.ts";
import { EXPLAIN_SENTENCES } from "./sentences.ts";
import { requestStoryEntry, type StoryRequest } from "./timeline.ts";

export type ExistingCheckout = Checkout & {
  readonly fingerprint: string | null;
};

export function explainRequest(
  request: StoryRequest,
  checkout: ExistingCheckout | undefined,
  replays: readonly StoryRequest[],
  say: Translator = english,
): Explanation {
  const { requestId, code, refused, fault, differences } = request;
  const entries = [request, ...replays].map((entry) => requestStoryEntry(entry, say));
  const lineText = requestLine(request, say);
  const commonFields = { kind: "request", id: requestId, entries, pending: [] } as const;
  if (fault !== null) return { ...commonFields, ...NO_REFUSAL, ...explainFault(request, fault, lineText) };
  if (code === null || refused === null) {
    const reliedDecision = request.decisions[0] ?? null;
    const next = checkout === undefined ? [] : [`checkout explain ${checkout.id}`];
    return {
      ...commonFields,
      summary: `${lineText}${replayText(request, replays, say)}${missingCheckoutText(request, checkout, say)}`,
      ...NO_REFUSAL,
      decision: reliedDecision,
      next,
    };
  }
  const check = checkOfCode(code);
  const { fact, field, expected, received, next } = partsOf(refused, check, say);
  // An unusable price is refused under the rule for creates that name a price, not under the rule of its error code.
  const { rule, decision } = field === PRICE_CHECK.field ? PRICE_CHECK : check;
  return {
    ...commonFields,
    summary: `${lineText} (${code}): ${refused.message}${missingCheckoutText(request, checkout, say)}`,
    fact,
    check: english(REFUSAL_CHECKS[check.name]),
    rule,
    decision,
    field,
    expected,
    received: received ?? receivedHeader(check, refused),
    differences,
    next: checkout === undefined ? next : [`checkout explain ${checkout.id}`, ...next],
  };
}

const PRICE_CHECK = { field: "price_id", rule: 10, decision: 7 } as const;
const FAULTS_DECISION = 94;

function explainFault(
  { refused, code }: LoggedRequest,
  fault: AppliedFault,
  lineText: string,
): Pick<Explanation, "summary" | "decision" | "next"> {
  const refusalText = code === null || refused === null ? "" : ` (${code}): ${refused.message}`;
  return {
    summary: `${lineText}${refusalText}; ${faultReason(fault)}`,
    decision: FAULTS_DECISION,
    next: ["checkout faults list", "checkout faults clear"],
  };
}

function requestLine({ method, path, status, fault }: LoggedRequest, say: Translator): string {
  const { notAnswered, answered, answerLost } = EXPLAIN_SENTENCES;
  const answerSentence = fault?.action === "lose_answer" ? answerLost : answered;
  return `${method} ${path} ${say(status === 0 ? notAnswered : answerSentence(status))}`;
}

function replayText(request: StoryRequest, replays: readonly StoryRequest[], say: Translator): string {
  if (isReplay(request)) return say(EXPLAIN_SENTENCES.isReplay);
  return replays.length === 0 ? "" : say(EXPLAIN_SENTENCES.wasReplayed);
}

/** The log survives a restore, so it can name a checkout that no longer exists (decision 95). */
function missingCheckoutText(
  { status, code, orderId, refused }: LoggedRequest,
  checkout: ExistingCheckout | undefined,
  say: Translator,
): string {
  const hadCheckout = code === null ? orderId !== null && status < 300 : refused?.met !== undefined;
  return checkout === undefined && hadCheckout ? say(EXPLAIN_SENTENCES.checkoutGone) : "";
}

function partsOf(
  request: RefusedRequest,
  check: RefusalCheck,
  say: Translator,
): ReturnType<typeof olderRefusalParts> {
  const { told, message } = request;
  if (told === undefined) return olderRefusalParts(message, check, say);
  const parts = isRefusalFact(told) ? factParts(told) : undefined;
  const expectedText = parts?.expected ?? check.expected;
  const { scope = "<scope>", received: name = "<name>" } = told?.values ?? {};
  return {
    fact: told?.fact ?? null,
    field: parts?.field ?? check.field,
    expected: expectedText === null ? message : say(expectedText),
    received: parts?.received ?? null,
    next:
      parts?.next === undefined
        ? check.next.map((command) =>
            command.replace("<scope>", valueText(scope, say)).replace("<name>", valueText(name, say)),
          )
        : [parts.next],
  };
}

function receivedHeader({ field }: RefusalCheck, { headers }: RefusedRequest): string | null {
  if (field === null || !HEADER_FIELDS.has(field)) return null;
  const name = field.toLowerCase();
  const value = findHeader(headers, name);
  return value === undefined ? `no ${name} header` : `${name}: ${value}`;
}

const HEADER_FIELDS: ReadonlySet<string> = new Set([
  "Host",
  "Origin",
  "Authorization",
  "Content-Type",
  "Idempotency-Key",
]);

export function keyOfRefusal({ refused }: Pick<LoggedRequest, "refused">): string | null {
  return refused === null ? null : (findHeader(refused.headers, "idempotency-key") ?? null);
}

export function differencesOf(
  { path, refused }: Pick<LoggedRequest, "path" | "refused">,
  checkout: ExistingCheckout | undefined,
): readonly RequestDifference[] {
  if (refused === null || checkout === undefined) return [];
  const body = parseJson(refused.body);
  if (typeof body !== "object" || body === null) return [];
  const fields = new Map(Object.entries(body).map(([field, value]) => [field, displayValue(value)]));
  const firstFields = fieldsOfFirstRequest(checkout);
  // A price can supply the description; without a fingerprint, it is unknown whether the first request sent one.
  if (checkout.fingerprint === null && createRequestsFor(checkout).length > 1) fields.delete("description");
  fields.set("path", path);
  return [...new Set([...firstFields.keys(), ...fields.keys()])]
    .map((field) => ({ field, first: firstFields.get(field) ?? null, this: fields.get(field) ?? null }))
    .filter(({ first: firstValue, this: refusedValue }) => firstValue !== refusedValue);
}

export function originalRequestBody(checkout: ExistingCheckout): CreateRequest {
  const [body, ...bodies] = createRequestsFor(checkout);
  return (
    bodies.find(
      (candidate) => fingerprint(CREATE_PATHS[checkout.object], candidate) === checkout.fingerprint,
    ) ?? body
  );
}

function fieldsOfFirstRequest(checkout: ExistingCheckout): Map<string, string> {
  const fields = Object.entries({ path: CREATE_PATHS[checkout.object], ...originalRequestBody(checkout) });
  return new Map(
    fields.map(([field, value]) => {
      // Redacted as in the log, so that the values are comparable.
      const storedValue = typeof value === "string" ? redactStored(value, checkout.orderId) : value;
      return [field, displayValue(storedValue)];
    }),
  );
}

function displayValue(value: unknown): string {
  return printable(typeof value === "string" ? value : JSON.stringify(value));
}
