import { errorRow, type ErrorCode } from "../errors.ts";

/** The check that refuses with a code, where the interface asks for it, and what helps. */
export type Check = {
  /** Its place in the order of checks (decision 3). */
  readonly name: string;
  /** The rule of INTERFACE.md; null where that states none. */
  readonly rule: number | null;
  /** The entry of DECISIONS.md. */
  readonly decision: number;
  /** What it expects, where the message of the refusal does not say so. */
  readonly expected: string | null;
  /** Commands that help. */
  readonly next: readonly string[];
};

type Row = Omit<Check, "decision" | "expected" | "next" | "rule"> & Partial<Check>;

const [TRANSPORT, HOST, CREDENTIAL] = ["transport", "host and origin", "credential"];
const [RATE, SCOPE, CONTENT] = ["rate", "environment and scope", "content"];
const [KEY, STORE, ORDER] = ["idempotency key", "store and capability", "state of the order"];
const SAME_AGAIN = "the path and the body of the first request with this key";

const ROWS: Readonly<Record<ErrorCode, Row>> = {
  invalid_request: { name: TRANSPORT },
  request_timeout: { name: TRANSPORT, expected: "the whole request within its time" },
  headers_too_large: { name: TRANSPORT },
  body_too_large: { name: TRANSPORT, decision: 6 },
  host_not_allowed: { name: HOST, next: ["checkout sandbox start --allow-host <host>"] },
  origin_not_allowed: { name: HOST, expected: "a request of a server: the API key must not be in a browser" },
  not_found: { name: "route", next: ["checkout assumptions"] },
  method_not_allowed: { name: "route", next: ["checkout assumptions"] },
  credential_missing: { name: CREDENTIAL, rule: 22, next: ["checkout whoami", "checkout env"] },
  credential_invalid: { name: CREDENTIAL, rule: 27, next: ["checkout whoami", "checkout env"] },
  rate_limited: {
    name: RATE,
    rule: 33,
    expected: "a new try after the seconds of Retry-After",
    next: ["checkout sandbox start --rate-limit <rate>"],
  },
  environment_not_allowed: { name: SCOPE, rule: 25, next: ["checkout env"] },
  production_approval_missing: { name: SCOPE, rule: 26, next: ["checkout production request"] },
  scope_missing: { name: SCOPE, rule: 27 },
  unsupported_content_type: { name: CONTENT, expected: "Content-Type: application/json" },
  invalid_json: { name: CONTENT },
  missing_parameter: { name: CONTENT, rule: 9 },
  invalid_parameter: { name: CONTENT, rule: 9 },
  unknown_parameter: { name: CONTENT, rule: 9 },
  conflicting_parameters: { name: CONTENT, rule: 10 },
  idempotency_key_missing: { name: CONTENT, rule: 19 },
  idempotency_key_invalid: { name: CONTENT, rule: 19 },
  invalid_session_id: { name: CONTENT, rule: 16 },
  idempotency_key_reused: { name: KEY, rule: 21, expected: SAME_AGAIN },
  idempotency_in_progress: {
    name: KEY,
    rule: 21,
    expected: "a new try when the first request of this key has its answer",
  },
  store_inactive: { name: STORE, rule: 6, next: ["checkout admin activate"] },
  capability_missing: {
    name: STORE,
    rule: 10,
    next: ["checkout capabilities list", "checkout admin enable-capability <name>"],
  },
  order_conflict: {
    name: ORDER,
    rule: 21,
    expected: "an order_id without an open or paid checkout, or the Idempotency-Key of its first request",
  },
  state_conflict: { name: ORDER, rule: 21 },
  session_not_found: { name: "session" },
  internal_error: { name: "the service itself", next: ["checkout sandbox logs"] },
  storage_unavailable: { name: "the service itself", next: ["checkout doctor"] },
};

/** What refuses with a code. */
export function checkOf(code: ErrorCode): Check {
  const decision = errorRow(code)?.decision ?? LIST_OF_CODES;
  return { rule: null, decision, expected: null, next: [], ...ROWS[code] };
}

/** The decision that has the list of codes. */
const LIST_OF_CODES = 4;

const LADDER = [TRANSPORT, HOST, "route", CREDENTIAL, RATE, SCOPE];
const OF_CREATE = [CONTENT, KEY, STORE, ORDER];

/** The checks that a request of v1 passes, in their order (decision 3); with its own, where that is none of them. */
export function ladderOf(method: string, check: string | null): readonly string[] {
  const ladder = [...LADDER, ...(method === "POST" ? OF_CREATE : ["session"])];
  return check === null || ladder.includes(check) ? ladder : [...ladder, check];
}
