import { accept, type Outcome } from "../core/outcome.ts";
import { refuseFact } from "../core/refusals.ts";
import { printableLiteral } from "../core/text.ts";
import type { HttpRequest, HttpResponse } from "../world.ts";
import { headerLines } from "./http.ts";
import type { Html } from "./html.ts";
import type { Language } from "../core/language.ts";
import { languageTagOf } from "./language.ts";

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

export const PAGE_SECURITY_HEADERS = {
  "Content-Security-Policy": CONTENT_SECURITY_POLICY,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  // With no-referrer, browsers would send our own forms with `Origin: null`, like forms of other sites.
  "Referrer-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
} as const;

const FORM_TYPE = /^application\/x-www-form-urlencoded *(; *charset=utf-8 *)?$/i;

/** `no-store`, so that going back in the browser shows the current state. */
export function pageResponse(
  page: {
    readonly status: number;
    readonly markup: Html;
    readonly language: Language;
    readonly allow?: string | undefined;
    readonly retryAfterSeconds?: number | undefined;
  },
  requestId: string,
): HttpResponse {
  const headers = {
    ...PAGE_SECURITY_HEADERS,
    "Content-Type": "text/html; charset=utf-8",
    "Content-Language": languageTagOf(page.language),
    Vary: "Accept-Language",
    "Cache-Control": "no-store",
    "X-Request-Id": requestId,
    // A 401 must say how to authenticate (RFC 9110, section 15.5.2); browsers ignore a scheme that they do not know.
    ...(page.status === 401 ? { "WWW-Authenticate": 'Cookie realm="checkout portal"' } : {}),
    ...(page.allow === undefined ? {} : { Allow: page.allow }),
    ...(page.retryAfterSeconds === undefined ? {} : { "Retry-After": String(page.retryAfterSeconds) }),
  };
  return { status: page.status, headers, body: String(page.markup(page.language)) };
}

/** 303 after a form, 307 to the correct address of the same page. */
export function redirect(status: 303 | 307, location: string, requestId: string): HttpResponse {
  const headers = {
    ...PAGE_SECURITY_HEADERS,
    "Cache-Control": "no-store",
    Location: location,
    "X-Request-Id": requestId,
  };
  return { status, headers, body: "" };
}

export function emptyResponse(requestId: string): HttpResponse {
  const headers = { ...PAGE_SECURITY_HEADERS, "Cache-Control": "no-store", "X-Request-Id": requestId };
  return { status: 204, headers, body: "" };
}

/** Refuses a body that is not a form, and a field that appears twice. */
export function parseForm(request: HttpRequest): Outcome<ReadonlyMap<string, string>> {
  const types = headerLines(request, "content-type");
  if (types.length !== 1 || !FORM_TYPE.test(types[0] ?? "")) {
    const receivedText = types.length === 0 ? "none" : printableLiteral(types.join(", "));
    return refuseFact("form_content_type", { received: receivedText });
  }
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(Buffer.from(request.body).toString("utf8"))) {
    if (fields.has(name)) {
      return refuseFact("form_field_twice", { field: printableLiteral(name) });
    }
    fields.set(name, value);
  }
  return accept(fields);
}
