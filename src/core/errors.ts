/** Everything that is fixed about an error code. */
type ErrorRow = {
  readonly status: number;
  /** The decision that a client relies on when it gets this code, besides the list itself (decision 4). */
  readonly decision?: number;
  /** What to do next; a command may replace it by something more exact. */
  readonly next?: string;
  /**
   * Whether the refusal proves that no order was made under the key: the service looks the key up before it finds what it
   * refuses here (decision 3), and would have answered an order of that key.
   */
  readonly provesKeyUnused?: true;
  /** What a client does wrong that gets this code in the idempotency drill. */
  readonly cause?: string;
};

const CHECK_KEY = "check CHECKOUT_API_KEY and --base-url; checkout whoami shows both";
const USE_TEST_KEY = "use a test key (svc_test_…): v1 does not accept live keys";
const ACTIVATE_STORE =
  "ask for its activation, or use an active one; in the sandbox: checkout admin activate";
const ACTIVATE_CAPABILITY =
  "ask for its activation, or use an active one; in the sandbox: checkout admin enable-capability <name>";

/**
 * Every error code that the service can answer (decision 4). 400, 401, 403, 409 and 429 are the interface's own
 * statuses (interface 18); the others are used only for cases that the interface does not describe. To add a code, add
 * its row here and its row in decision 4.
 */
export const ERRORS = {
  /** The HTTP request is malformed. */
  invalid_request: { status: 400 },
  /** The body is not strict JSON. */
  invalid_json: { status: 400, decision: 6 },
  /** The body is not application/json. */
  unsupported_content_type: { status: 400, decision: 6 },
  /** A required field is missing. */
  missing_parameter: { status: 400 },
  /** A field has a value it cannot have. */
  invalid_parameter: { status: 400 },
  /** A field that the interface does not have. */
  unknown_parameter: { status: 400 },
  /** Fields that exclude each other. */
  conflicting_parameters: { status: 400, decision: 7 },
  /** A create came without Idempotency-Key. */
  idempotency_key_missing: {
    status: 400,
    cause: "sends no Idempotency-Key, and the service refuses a create without one",
  },
  /** The Idempotency-Key is malformed or doubled. */
  idempotency_key_invalid: {
    status: 400,
    cause: "sends a key that is none: 8 to 128 printable ASCII characters, in one header line",
  },
  /** The session id in the path is not a UUID. */
  invalid_session_id: { status: 400 },
  /** No API key came with the request. */
  credential_missing: {
    status: 401,
    next: CHECK_KEY,
    cause: "sends no API key; it is in CHECKOUT_API_KEY",
  },
  /** The API key is malformed, unknown or revoked. */
  credential_invalid: {
    status: 401,
    next: CHECK_KEY,
    cause: "sends another API key than the one in CHECKOUT_API_KEY",
  },
  /** A live credential on a test-only endpoint. */
  environment_not_allowed: { status: 403, next: USE_TEST_KEY },
  /** A live credential without approval. */
  production_approval_missing: { status: 403, next: USE_TEST_KEY },
  /** The API key lacks the scope of the operation. */
  scope_missing: { status: 403, decision: 15, next: "use an API key with that scope" },
  /** The store is not active. */
  store_inactive: { status: 403, next: ACTIVATE_STORE },
  /** The store lacks the method or currency. */
  capability_missing: { status: 403, next: ACTIVATE_CAPABILITY },
  /** The Host header does not name this service. */
  host_not_allowed: { status: 403 },
  /** A browser called the API. */
  origin_not_allowed: { status: 403 },
  /** No such session in the store of the key. */
  session_not_found: { status: 404, decision: 9 },
  /** No such resource. */
  not_found: { status: 404 },
  /** The resource does not have the method. */
  method_not_allowed: { status: 405 },
  /** The request did not arrive in time. */
  request_timeout: { status: 408 },
  /** The key belongs to another request. */
  idempotency_key_reused: {
    status: 409,
    decision: 5,
    cause: "uses one key for different requests; a new purchase needs a new key",
  },
  /** The first request of the key still runs. */
  idempotency_in_progress: { status: 409 },
  /** The order has an open or paid checkout. */
  order_conflict: {
    status: 409,
    decision: 8,
    provesKeyUnused: true,
    cause:
      "creates an order that was there before, under another key; let it create a new one each time, such as the order_id in CHECKOUT_ORDER_ID",
  },
  /** The state does not allow the change. */
  state_conflict: { status: 409 },
  /** The body is over the limit. */
  body_too_large: { status: 413 },
  /** Too many requests. */
  rate_limited: { status: 429, decision: 17 },
  /** The headers are over the limit. */
  headers_too_large: { status: 431 },
  /** The service failed; the log says why. */
  internal_error: { status: 500 },
  /** The database could not be written or read. */
  storage_unavailable: { status: 503 },
} as const satisfies Readonly<Record<string, ErrorRow>>;

/** A code of the closed list. */
export type ErrorCode = keyof typeof ERRORS;

/** All codes, in the order of the table. */
export const ERROR_CODES = Object.keys(ERRORS) as readonly ErrorCode[];

/** The row of a code; undefined for a code that is not of this list. */
export function errorRow(code: string): ErrorRow | undefined {
  return isErrorCode(code) ? ERRORS[code] : undefined;
}

/** What to do next after a refusal of the service, with what its message names; undefined where its row has nothing. */
export function nextAfterError({
  code,
  message,
}: Readonly<Record<"code" | "message", string>>): string | undefined {
  const [, name = "<name>"] = /^\w+ (\w+) is not active for this store;/.exec(message) ?? [];
  return errorRow(code)?.next?.replace("<name>", name);
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}
