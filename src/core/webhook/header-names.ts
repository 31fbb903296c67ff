import { accept, type Outcome } from "../outcome.ts";
import { DEFAULT_HEADER_NAMES } from "./signature.ts";
import type { HeaderNames } from "./webhook.ts";
import { refuseFact } from "../refusals.ts";
import { printableLiteral } from "../text.ts";

/** The header that each key in the option's text stands for. */
const HEADER_BY_KEY = { "event-id": "eventId", timestamp: "timestamp", signature: "signature" } as const;
/** The name of a header (RFC 9110, section 5.1). */
export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;

/** Headers of HTTP itself, which say how a message is read. */
export const HTTP_HEADER =
  /^(?:content-[^ ]*|transfer-encoding|connection|keep-alive|upgrade|expect|te|trailer|proxy-[^ ]*)$/i;

const EXAMPLE = "timestamp=X-Timestamp,signature=X-Signature";

/** `event-id=…,timestamp=…,signature=…`, in any order; missing headers keep their default names. */
export function parseHeaderNames(text: string): Outcome<HeaderNames> {
  const names: { -readonly [Key in keyof HeaderNames]: string } = { ...DEFAULT_HEADER_NAMES };
  const named = new Set<string>();
  for (const part of text.split(",")) {
    const [, key = "", name = ""] = /^\s*([a-z-]+)=(\S*)\s*$/.exec(part) ?? [];
    if (!isKey(key) || !HEADER_NAME.test(name) || named.has(key)) return refuseNames(part);
    named.add(key);
    names[HEADER_BY_KEY[key]] = name;
  }
  const distinct = new Set(Object.values(names).map((name) => name.toLowerCase()));
  return distinct.size === Object.keys(HEADER_BY_KEY).length ? accept(names) : refuseNames(text);
}

function isKey(text: string): text is keyof typeof HEADER_BY_KEY {
  return Object.hasOwn(HEADER_BY_KEY, text);
}

function refuseNames(part: string): Outcome<never> {
  return refuseFact("header_names", {
    names: Object.keys(HEADER_BY_KEY),
    example: EXAMPLE,
    received: printableLiteral(part),
  });
}
