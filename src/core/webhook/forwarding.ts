import { parseEventTypes, matchesEventPatterns } from "../checkout/event-types.ts";
import { accept, mapValue, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import { printableLiteral } from "../text.ts";
import { RESERVED_HEADERS_PATTERN } from "./header-names.ts";

export type ForwardRoute = { readonly pattern: string; readonly url: string };

export type AddedHeader = readonly [name: string, value: string];

/** The first matching route applies, otherwise `defaultUrl`. */
export type ForwardPlan = {
  readonly eventTypes: readonly string[];
  readonly routes: readonly ForwardRoute[];
  readonly defaultUrl: string | undefined;
};

const HEADER_PATTERN = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*$/;

/** `not_wanted`: the event's type was not requested. `no_target`: the event is only shown. */
export function targetFor(
  { eventTypes, routes, defaultUrl }: ForwardPlan,
  type: string,
): { readonly url: string } | "not_wanted" | "no_target" {
  if (!matchesEventPatterns(eventTypes, type)) return "not_wanted";
  const url = routes.find(({ pattern }) => matchesEventPatterns([pattern], type))?.url ?? defaultUrl;
  return url === undefined ? "no_target" : { url };
}

/** Parses `pattern=URL`. Refuses an unknown pattern; the caller checks the URL. */
export function parseRoute(text: string): Outcome<ForwardRoute> {
  const [, pattern = "", url = ""] = /^([^=]*)=(.+)$/.exec(text) ?? [];
  if (url === "") return refuseFact("route_form", { received: printableLiteral(text) });
  return mapValue(parseEventTypes([pattern]), () => ({ pattern, url }));
}

/** Refuses headers that HTTP or the service sets itself. Refusals do not show the value, which may be a secret. */
export function parseAddedHeader(text: string): Outcome<AddedHeader> {
  const [, name, value = ""] = HEADER_PATTERN.exec(text) ?? [];
  if (name === undefined) return refuseFact("header_form", {});
  if (RESERVED_HEADERS_PATTERN.test(name) || /^checkout-/i.test(name))
    return refuseFact("header_reserved", { header: printableLiteral(name) });
  return accept([name, value]);
}
