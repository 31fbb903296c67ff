// Faults between a request and its answer, as codes with values. Their sentences: core/explain/delivery-sentences.ts;
// where the codes come from: web/failure.ts.
import * as z from "zod/mini";
import { lazyValue } from "../lazy.ts";

/** Reasons why there is no connection, no TLS, or no complete answer. */
export const CONNECTION_FAULTS = [
  // No connection.
  "refused",
  "no_address",
  "no_route",
  "no_connection",
  "not_permitted",
  "too_many_files",
  // A library in this process answered instead of the network.
  "intercepted",
  // No TLS.
  "tls_untrusted",
  "tls_wrong_name",
  "tls_expired",
  "tls_not_yet_valid",
  "tls_not_spoken",
  "tls_version",
  "tls_no_agreement",
  "tls_client_certificate",
  "tls_closed",
  "tls_silent",
  "tls_failed",
  // No answer.
  "silent",
  "closed",
  "expects_tls",
  // No whole answer, or an answer that is not HTTP/1.
  "unfinished_head",
  "unfinished_body",
  "slow_body",
  "head_too_large",
  "body_too_large",
  "invalid_head",
  "invalid_body",
  "http2",
  "not_http",
  "upgrade",
] as const;
export type ConnectionFault = (typeof CONNECTION_FAULTS)[number];

/** Maximum length of a text among the facts, in code points; longer texts are cut. */
export const MAX_FACT_SIZE = 400;

/** Facts about an attempt that its status or its error does not state. A fact that was not observed is missing. */
export const attemptFacts = lazyValue(() => {
  const text = z.optional(z.string().check(z.maxLength(2 * MAX_FACT_SIZE + 1)));
  const count = z.optional(z.int().check(z.minimum(0)));
  return z.object({
    fault: z.optional(z.enum(CONNECTION_FAULTS)),
    /** The error's own text. */
    message: text,
    /** A loopback address of the other family that accepts connections on this port. */
    elsewhere: z.optional(z.enum(["127.0.0.1", "::1"])),
    /** The status of an unfinished answer, the numbers of its bytes, and its beginning. */
    unfinishedStatus: count,
    receivedBytes: count,
    announcedBytes: count,
    beginning: text,
    /** Headers of an answer: `Location`, `Content-Type` and `WWW-Authenticate`. */
    location: text,
    contentType: text,
    authenticate: text,
  });
});
export type AttemptFacts = z.infer<ReturnType<typeof attemptFacts>>;

export function answerFacts(headers: Readonly<Record<string, string>>): AttemptFacts {
  const { location, "content-type": contentType, "www-authenticate": authenticate } = headers;
  return {
    ...(location === undefined ? {} : { location }),
    ...(contentType === undefined ? {} : { contentType }),
    ...(authenticate === undefined ? {} : { authenticate }),
  };
}
