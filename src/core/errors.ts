// A test compares the codes with decision 4.

type ErrorRow = {
  readonly status: number;
  readonly meaning: string;
  readonly decision?: number;
  readonly next?: string;
  /**
   * Set if the refusal proves that the key is unused, because the service looks up the key before this check (decision
   * 3).
   */
  readonly provesKeyUnused?: true;
};

const CHECK_KEY = "check CHECKOUT_API_KEY and --base-url; checkout whoami shows both";
const USE_TEST_KEY = "use a test key (svc_test_…): v1 does not accept live keys";
const ACTIVATE_STORE =
  "request its activation, or use an active store; in the sandbox: checkout admin activate";
const ACTIVATE_CAPABILITY =
  "request its activation, or use an active capability; in the sandbox: checkout admin enable-capability <name>";

/**
 * The complete list of codes (decision 4). Interface 18 states only 400, 401, 403, 409 and 429; the other statuses are
 * the sandbox's choice.
 */
export const ERRORS = {
  invalid_request: { meaning: "the HTTP request is malformed", status: 400 },
  invalid_json: { meaning: "the body is not strict JSON", status: 400, decision: 6 },
  unsupported_content_type: { meaning: "the body is not application/json", status: 400, decision: 6 },
  missing_parameter: { meaning: "a required field is missing", status: 400 },
  invalid_parameter: { meaning: "a field has an invalid value", status: 400 },
  unknown_parameter: {
    meaning: "the body has a field that the interface does not have",
    status: 400,
  },
  conflicting_parameters: {
    meaning: "the body has fields that exclude each other",
    status: 400,
    decision: 7,
  },
  idempotency_key_missing: {
    meaning: "a create has no Idempotency-Key",
    status: 400,
  },
  idempotency_key_invalid: {
    meaning: "the Idempotency-Key is malformed or repeated",
    status: 400,
  },
  invalid_session_id: { meaning: "the session id in the path is not a UUID", status: 400 },
  credential_missing: {
    meaning: "the request has no API key",
    status: 401,
    next: CHECK_KEY,
  },
  credential_invalid: {
    meaning: "the API key is malformed, unknown or revoked",
    status: 401,
    next: CHECK_KEY,
  },
  environment_not_allowed: {
    meaning: "a live credential on a test-only endpoint",
    status: 403,
    next: USE_TEST_KEY,
  },
  production_approval_missing: {
    meaning: "a live credential without approval",
    status: 403,
    next: USE_TEST_KEY,
  },
  scope_missing: {
    meaning: "the API key lacks the scope of the operation",
    status: 403,
    decision: 15,
    next: "use an API key with that scope",
  },
  store_inactive: { meaning: "the store is not active", status: 403, next: ACTIVATE_STORE },
  capability_missing: {
    meaning: "the store lacks the method or currency",
    status: 403,
    next: ACTIVATE_CAPABILITY,
  },
  host_not_allowed: { meaning: "the Host header does not name this service", status: 403 },
  origin_not_allowed: { meaning: "a browser called the API", status: 403 },
  session_not_found: { meaning: "no such session in the store of the key", status: 404, decision: 9 },
  not_found: { meaning: "no such resource", status: 404 },
  method_not_allowed: { meaning: "the resource does not have the method", status: 405 },
  request_timeout: { meaning: "the request did not arrive in time", status: 408 },
  idempotency_key_reused: {
    meaning: "the key belongs to another request",
    status: 409,
    decision: 5,
  },
  idempotency_in_progress: { meaning: "the first request with the key is still running", status: 409 },
  order_conflict: {
    meaning: "the order has an open or paid checkout",
    status: 409,
    decision: 8,
    provesKeyUnused: true,
  },
  state_conflict: { meaning: "the state does not allow the change", status: 409 },
  body_too_large: { meaning: "the body is over the limit", status: 413 },
  rate_limited: { meaning: "too many requests", status: 429, decision: 17 },
  headers_too_large: { meaning: "the headers are over the limit", status: 431 },
  internal_error: { meaning: "the service failed; the log says why", status: 500 },
  storage_unavailable: { meaning: "the database could not be written or read", status: 503 },
} as const satisfies Readonly<Record<string, ErrorRow>>;

export type ErrorCode = keyof typeof ERRORS;

export const ERROR_CODES = Object.keys(ERRORS) as readonly ErrorCode[];

const ROWS: ReadonlyMap<string, ErrorRow> = new Map(Object.entries(ERRORS));

export function errorRow(code: string): ErrorRow | undefined {
  return ROWS.get(code);
}
