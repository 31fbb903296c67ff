import { refusalInDialect, type Dialect } from "../core/shape/dialect.ts";
import { ERRORS } from "../core/errors.ts";
import type { Refusal } from "../core/outcome.ts";
import { errorBody } from "../core/checkout/wire.ts";
import type { HttpResponse } from "../world.ts";

export function jsonHeaders(requestId: string): Record<string, string> {
  return {
    "Content-Type": "application/json",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Request-Id": requestId,
  };
}

export function refusalResponse(requestId: string, refusal: Refusal, dialect?: Dialect): HttpResponse {
  const headers = jsonHeaders(requestId);
  if (refusal.retryAfterSeconds !== undefined) headers["Retry-After"] = String(refusal.retryAfterSeconds);
  if (refusal.allow !== undefined) headers["Allow"] = refusal.allow;
  const ourError = { code: refusal.code, status: ERRORS[refusal.code].status };
  const { code, status } = dialect === undefined ? ourError : refusalInDialect(dialect, ourError);
  // A 401 must say how to authenticate (RFC 9110, section 15.5.2).
  if (status === 401) headers["WWW-Authenticate"] = "Bearer";
  return { status, headers, body: errorBody(requestId, { ...refusal, code }) };
}
