import type { Checkout } from "../checkout/checkout.ts";
import { faultText, type MetFault } from "../fault/fault.ts";
import { parseJson } from "../json.ts";
import { keptHeader, type LoggedRequest, type RefusedRequest } from "../request/logged-request.ts";
import { printable } from "../text.ts";
import { checkOf } from "./checks.ts";
import type { Difference, Explanation } from "./explanation.ts";
import { requestEntry } from "./timeline.ts";

/** What a request met: the checkout that its key is bound to, or that its order has. */
type Met = Pick<
  Checkout,
  | "id"
  | "object"
  | "orderId"
  | "amountMinor"
  | "currency"
  | "paymentMethod"
  | "priceId"
  | "description"
  | "status"
>;

/** Why a request was answered as it was. */
export function explainRequest(request: LoggedRequest, met: Met | undefined): Explanation {
  const { requestId, path, code, refused, fault } = request;
  const entries = [requestEntry(request)];
  const line = lineOf(request);
  const rest = { kind: "request", id: requestId, entries } as const;
  if (fault !== null) return { ...rest, ...NOTHING_REFUSED, ...ofFault(request, fault, line) };
  if (code === null || refused === null) {
    const relied = request.decisions[0] ?? null;
    const next = met === undefined ? [] : [`checkout explain ${met.id}`];
    const replayed = request.status === 201 && request.decisions.includes(REPLAYED);
    return {
      ...rest,
      summary: replayed
        ? `${line}, with the bytes of the first answer of its key: nothing was created`
        : line,
      ...NOTHING_REFUSED,
      decision: relied,
      next,
    };
  }
  const { name, rule, decision, expected, next } = checkOf(code);
  const [wanted, got = null] = partsOf(refused.message);
  const differences = met === undefined ? [] : differencesOf(met, path, refused);
  return {
    ...rest,
    summary: `${line} (${code}): ${refused.message}`,
    check: name,
    rule,
    decision,
    expected: expected ?? wanted,
    received: got ?? receivedOf(code, refused),
    differences,
    next: met === undefined ? next : [`checkout explain ${met.id}`, ...next],
  };
}

const NOTHING_REFUSED = {
  check: null,
  rule: null,
  expected: null,
  received: null,
  differences: [],
} as const;

/** The decision on faults. */
const FAULTS = 94;

/** Whatever the answer was, the fault is why the client did not get the right one. */
function ofFault(
  { refused, code }: LoggedRequest,
  fault: MetFault,
  line: string,
): Pick<Explanation, "summary" | "decision" | "next"> {
  const why = code === null || refused === null ? "" : ` (${code}): ${refused.message}`;
  return {
    summary: `${line}${why}; ${faultText(fault)}`,
    decision: FAULTS,
    next: ["checkout faults list", "checkout faults clear"],
  };
}

/** What a request was answered, also where its client did not hear it. */
function lineOf({ method, path, status, fault }: LoggedRequest): string {
  if (status === 0) return `${method} ${path} was not answered, and nothing was done`;
  const lost = fault?.action === "lose_answer" ? ", and the answer was lost" : "";
  return `${method} ${path} was answered ${status}${lost}`;
}

/** The decision on replays. */
const REPLAYED = 5;

/** Our messages say what was expected, and after "; got" what came (decision 4). */
function partsOf(message: string): readonly [string, string?] {
  const at = message.lastIndexOf(GOT);
  return at < 0 ? [message] : [message.slice(0, at), message.slice(at + GOT.length)];
}

const GOT = "; got ";

/** The header that a check reads, as it came; null where there is none. */
function receivedOf(code: string, { headers }: RefusedRequest): string | null {
  const name = HEADER_OF[code];
  if (name === undefined) return null;
  const value = keptHeader(headers, name);
  return value === undefined ? `no ${name} header` : `${name}: ${value}`;
}

const HEADER_OF: Readonly<Record<string, string>> = {
  credential_missing: "authorization",
  credential_invalid: "authorization",
  environment_not_allowed: "authorization",
  production_approval_missing: "authorization",
  host_not_allowed: "host",
  origin_not_allowed: "origin",
  unsupported_content_type: "content-type",
  idempotency_key_missing: "idempotency-key",
  idempotency_key_invalid: "idempotency-key",
  idempotency_key_reused: "idempotency-key",
};

/** Field by field, how a request differs from the one that made the checkout. */
function differencesOf(met: Met, path: string, refused: RefusedRequest): readonly Difference[] {
  const body = parseJson(refused.body);
  if (typeof body !== "object" || body === null) return [];
  const sent = new Map(Object.entries(body).map(([field, value]) => [field, shown(value)]));
  const first = firstRequest(met);
  // A price brings its description, and nobody can tell that from one that was sent.
  if (met.priceId !== null && !sent.has("description")) first.delete("description");
  sent.set(PATH, path);
  return [...new Set([...first.keys(), ...sent.keys()])]
    .map((field) => ({ field, first: first.get(field) ?? null, this: sent.get(field) ?? null }))
    .filter(({ first: before, this: now }) => before !== now);
}

const PATH = "path";

/** The path and the fields of the request that made a checkout. */
function firstRequest(met: Met): Map<string, string> {
  const terms =
    met.priceId === null
      ? { amount_minor: met.amountMinor, currency: met.currency, payment_method: met.paymentMethod }
      : { price_id: met.priceId };
  const { description } = met;
  const fields = { order_id: met.orderId, ...terms, ...(description === null ? {} : { description }) };
  const path = met.object === "order" ? "/v1/orders" : "/v1/checkout-sessions";
  const texts = Object.entries({ path, ...fields }).map(([field, value]) => [field, shown(value)] as const);
  return new Map(texts);
}

function shown(value: unknown): string {
  return printable(typeof value === "string" ? value : JSON.stringify(value));
}
