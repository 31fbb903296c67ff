import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import type { Dialect } from "../shape/dialect.ts";
import { printableLiteral } from "../text.ts";
import { headerNamesIn } from "./signature.ts";

/** The header that each key in the option's text stands for. */
const HEADER_BY_KEY = { "event-id": "event_id", timestamp: "timestamp", signature: "signature" } as const;
/** The name of a header (RFC 9110, section 5.1). */
export const HEADER_NAME_PATTERN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;

/** Headers of HTTP itself, which define how a message is parsed. */
export const HTTP_HEADERS =
  /^(?:content-[^ ]*|transfer-encoding|connection|keep-alive|upgrade|expect|te|trailer|proxy-[^ ]*)$/i;

const HEADER_NAMES_EXAMPLE = "timestamp=X-Timestamp,signature=X-Signature";

/** `event-id=…,timestamp=…,signature=…`, in any order, as a dialect; missing headers keep their default names. */
export function parseHeaderNames(text: string): Outcome<Pick<Dialect, "headers">> {
  const headers: Partial<Record<(typeof HEADER_BY_KEY)[keyof typeof HEADER_BY_KEY], string>> = {};
  for (const part of text.split(",")) {
    const [, key = "", name = ""] = /^\s*([a-z-]+)=(\S*)\s*$/.exec(part) ?? [];
    if (!isKey(key) || !HEADER_NAME_PATTERN.test(name) || HEADER_BY_KEY[key] in headers)
      return refuseNames(part);
    headers[HEADER_BY_KEY[key]] = name;
  }
  const names = Object.values(headerNamesIn({ headers })).map((name) => name.toLowerCase());
  return new Set(names).size === names.length ? accept({ headers }) : refuseNames(text);
}

function isKey(text: string): text is keyof typeof HEADER_BY_KEY {
  return Object.hasOwn(HEADER_BY_KEY, text);
}

function refuseNames(part: string): Outcome<never> {
  return refuseFact("header_names", {
    names: Object.keys(HEADER_BY_KEY),
    example: HEADER_NAMES_EXAMPLE,
    received: printableLiteral(part),
  });
}
