import * as z from "zod/mini";
import { lazyValue } from "../lazy.ts";

export const CONNECTION_FAULTS = [
  "refused",
  "no_address",
  "no_route",
  "no_connection",
  "not_permitted",
  "too_many_files",
  // A library in this process answered instead of the network.
  "intercepted",
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
  "silent",
  "closed",
  "expects_tls",
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

/** In code points; longer texts are cut. */
export const MAX_FACT_SIZE = 400;

export const attemptFacts = lazyValue(() => {
  const text = z.optional(z.string().check(z.maxLength(2 * MAX_FACT_SIZE + 1)));
  const count = z.optional(z.int().check(z.minimum(0)));
  return z.object({
    fault: z.optional(z.enum(CONNECTION_FAULTS)),
    message: text,
    elsewhere: z.optional(z.enum(["127.0.0.1", "::1"])),
    unfinishedStatus: count,
    receivedBytes: count,
    announcedBytes: count,
    beginning: text,
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
