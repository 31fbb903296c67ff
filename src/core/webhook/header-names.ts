import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import type { Dialect } from "../shape/dialect.ts";
import { printableLiteral } from "../text.ts";
import { headerNamesIn } from "./signature.ts";

type HeaderNamesInDialect = NonNullable<Dialect["headers"]>;

const HEADERS_BY_KEY = new Map<string, keyof HeaderNamesInDialect>([
  ["event-id", "event_id"],
  ["timestamp", "timestamp"],
  ["signature", "signature"],
]);
export const HEADER_NAME_PATTERN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;

export const RESERVED_HEADERS_PATTERN =
  /^(?:content-[^ ]*|transfer-encoding|connection|keep-alive|upgrade|expect|te|trailer|proxy-[^ ]*)$/i;

/** Parses `event-id=…,timestamp=…,signature=…` in any order. Headers that are not listed keep their default names. */
export function parseHeaderNames(text: string): Outcome<Pick<Dialect, "headers">> {
  const headers: { -readonly [Name in keyof HeaderNamesInDialect]: string } = {};
  for (const part of text.split(",")) {
    const [, key = "", name = ""] = /^\s*([a-z-]+)=(\S*)\s*$/.exec(part) ?? [];
    const header = HEADERS_BY_KEY.get(key);
    if (header === undefined || !HEADER_NAME_PATTERN.test(name) || header in headers)
      return refuseNames(part);
    headers[header] = name;
  }
  const names = Object.values(headerNamesIn({ headers })).map((name) => name.toLowerCase());
  return new Set(names).size === names.length ? accept({ headers }) : refuseNames(text);
}

function refuseNames(part: string): Outcome<never> {
  return refuseFact("header_names", {
    names: [...HEADERS_BY_KEY.keys()],
    example: "timestamp=X-Timestamp,signature=X-Signature",
    received: printableLiteral(part),
  });
}
