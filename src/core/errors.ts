/**
 * Every error code that the service can answer, with its status (decision 4). 400, 401, 403, 409 and 429 are the
 * interface's own statuses (interface 18); the others are used only for cases that the interface does not describe.
 */
export const STATUS_OF = {
  /** The HTTP request is malformed. */
  invalid_request: 400,
  /** The body is not strict JSON. */
  invalid_json: 400,
  /** The body is not application/json. */
  unsupported_content_type: 400,
  /** A required field is missing. */
  missing_parameter: 400,
  /** A field has a value it cannot have. */
  invalid_parameter: 400,
  /** A field that the interface does not have. */
  unknown_parameter: 400,
  /** Fields that exclude each other. */
  conflicting_parameters: 400,
  /** A create came without Idempotency-Key. */
  idempotency_key_missing: 400,
  /** The Idempotency-Key is malformed or doubled. */
  idempotency_key_invalid: 400,
  /** The session id in the path is not a UUID. */
  invalid_session_id: 400,
  /** No API key came with the request. */
  credential_missing: 401,
  /** The API key is malformed, unknown or revoked. */
  credential_invalid: 401,
  /** A live credential on a test-only endpoint. */
  environment_not_allowed: 403,
  /** A live credential without approval. */
  production_approval_missing: 403,
  /** The API key lacks the scope of the operation. */
  scope_missing: 403,
  /** The store is not active. */
  store_inactive: 403,
  /** The store lacks the method or currency. */
  capability_missing: 403,
  /** The Host header does not name this service. */
  host_not_allowed: 403,
  /** A browser called the API. */
  origin_not_allowed: 403,
  /** No such session in the store of the key. */
  session_not_found: 404,
  /** No such resource. */
  not_found: 404,
  /** The resource does not have the method. */
  method_not_allowed: 405,
  /** The request did not arrive in time. */
  request_timeout: 408,
  /** The key belongs to another request. */
  idempotency_key_reused: 409,
  /** The first request of the key still runs. */
  idempotency_in_progress: 409,
  /** The order has an open or paid checkout. */
  order_conflict: 409,
  /** The state does not allow the change. */
  state_conflict: 409,
  /** The body is over the limit. */
  body_too_large: 413,
  /** Too many requests. */
  rate_limited: 429,
  /** The headers are over the limit. */
  headers_too_large: 431,
  /** The service failed; the log says why. */
  internal_error: 500,
  /** The database could not be written or read. */
  storage_unavailable: 503,
} as const satisfies Record<string, number>;

/** A code of the closed list. */
export type ErrorCode = keyof typeof STATUS_OF;
