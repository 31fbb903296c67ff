/**
 * Every error code that the service can answer, with its status and its meaning (decision 4).
 * 400, 401, 403, 409 and 429 are the interface's own statuses (interface: Errors); the others appear
 * only where the interface has no meaning for the case.
 */
export const ERRORS = {
  invalid_request: { status: 400, meaning: "The HTTP request is malformed." },
  invalid_json: { status: 400, meaning: "The body is not strict JSON." },
  unsupported_content_type: { status: 400, meaning: "The body is not application/json." },
  missing_parameter: { status: 400, meaning: "A required field is missing." },
  invalid_parameter: { status: 400, meaning: "A field has a value it cannot have." },
  unknown_parameter: { status: 400, meaning: "A field that the interface does not have." },
  conflicting_parameters: { status: 400, meaning: "Fields that exclude each other." },
  idempotency_key_missing: { status: 400, meaning: "A create came without Idempotency-Key." },
  idempotency_key_invalid: { status: 400, meaning: "The Idempotency-Key is malformed or doubled." },
  invalid_session_id: { status: 400, meaning: "The session id in the path is not a UUID." },
  credential_missing: { status: 401, meaning: "No API key came with the request." },
  credential_invalid: { status: 401, meaning: "The API key is malformed, unknown or revoked." },
  environment_not_allowed: { status: 403, meaning: "A live credential on a test-only endpoint." },
  production_approval_missing: { status: 403, meaning: "A live credential without approval." },
  scope_missing: { status: 403, meaning: "The API key lacks the scope of the operation." },
  store_inactive: { status: 403, meaning: "The store is not active." },
  capability_missing: { status: 403, meaning: "The store lacks the method or currency." },
  host_not_allowed: { status: 403, meaning: "The Host header does not name this service." },
  origin_not_allowed: { status: 403, meaning: "A browser called the API." },
  session_not_found: { status: 404, meaning: "No such session in the store of the key." },
  not_found: { status: 404, meaning: "No such resource." },
  method_not_allowed: { status: 405, meaning: "The resource does not have the method." },
  request_timeout: { status: 408, meaning: "The request did not arrive in time." },
  idempotency_key_reused: { status: 409, meaning: "The key belongs to another request." },
  idempotency_in_progress: { status: 409, meaning: "The first request of the key still runs." },
  order_conflict: { status: 409, meaning: "The order has an open or paid checkout." },
  state_conflict: { status: 409, meaning: "The state does not allow the change." },
  body_too_large: { status: 413, meaning: "The body is over the limit." },
  rate_limited: { status: 429, meaning: "Too many requests." },
  headers_too_large: { status: 431, meaning: "The headers are over the limit." },
  internal_error: { status: 500, meaning: "The service failed; the log says why." },
  storage_unavailable: { status: 503, meaning: "The database could not be written or read." },
} as const satisfies Record<string, { status: number; meaning: string }>;

/** A code of the closed list. */
export type ErrorCode = keyof typeof ERRORS;
