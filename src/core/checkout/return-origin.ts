import type { Checkout } from "./checkout.ts";
import { createPart, type Part, type PlainPartName } from "../fact.ts";
import { LOOPBACK_NAMES, PORT_PATTERN } from "../loopback.ts";
import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import { printableLiteral } from "../text.ts";

export type ReturnOrigin = { readonly origin: string; readonly path: string };

export const ROOT_PATH = "/";

const MAX_PATH_CHARACTERS = 256;
/** Length of `https://` and the longest possible DNS name. */
const MAX_ORIGIN_CHARACTERS = 261;
const MAX_HOST_CHARACTERS = 253;
const MAX_PORT = 65_535;

const LABEL_PATTERN = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";

export const RETURN_ORIGIN_SCHEMA = {
  maxLength: MAX_ORIGIN_CHARACTERS,
  anyOf: [
    { pattern: `^https?://(?:localhost|127\\.0\\.0\\.1|\\[::1\\])(?::${PORT_PATTERN})?$` },
    {
      pattern: `^https://(?:${LABEL_PATTERN}\\.)+${LABEL_PATTERN}(?::${PORT_PATTERN})?$`,
      not: {
        anyOf: [
          { pattern: `^https://[^:]{${MAX_HOST_CHARACTERS + 1}}` },
          { pattern: "[/.]xn--" },
          { pattern: "\\.(?:\\d+|0x[0-9a-f]*)(?::\\d+)?$" },
        ],
      },
    },
  ],
  not: { pattern: "^(?:https:.*:443|http:.*:80)$" },
};

export const RETURN_PATH_SCHEMA = {
  maxLength: MAX_PATH_CHARACTERS,
  pattern: "^/(?:[!$-.0-;=@-\\[\\]_a-z|~][!$-;=@-\\[\\]_a-z|~]*)?$",
  not: { pattern: "/(?:\\.|%2[eE]){1,2}(?:/|$)" },
};

/** Hosts that may use plain HTTP: their traffic does not leave this machine. */
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(LOOPBACK_NAMES);
const DEFAULT_PORTS = { http: "80", https: "443" } as const;

const URL_PARTS_PATTERN = /^(https?):\/\/([^/?#]*)(.*)$/i;
const HOST_AND_PORT_PATTERN = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/;
/** Browsers parse a host as an IPv4 address if its last label is a number. */
const ENDS_IN_NUMBER = /(^|\.)(\d+|0x[0-9a-f]*)$/;

type TextFault = readonly [pattern: RegExp, rule: PlainPartName];

const TEXT_FAULTS: readonly TextFault[] = [
  [/[\s\p{Cc}]/u, "no_space"],
  [/[^\x21-\x7e]/, "plain_ascii"],
  [/\\/, "no_backslash"],
  [/\*/, "no_wildcard"],
  [/^null$/, "not_null"],
];

const PATH_FAULTS: readonly TextFault[] = [
  [/[\s\p{Cc}]/u, "no_space"],
  [/[^\x21-\x7e]/, "encoded_ascii"],
  [/\\/, "no_backslash"],
  [/^[^/]|^$/, "leading_slash"],
  [/^\/\//, "one_slash"],
  [/\?/, "path_without_query"],
  [/#/, "no_fragment"],
];

const LABEL_FAULTS: readonly TextFault[] = [
  [/^$/, "no_empty_label"],
  [/^.{64}/, "label_length"],
  [/%/, "no_percent_in_host"],
  [/^-|-$|[^a-z0-9-]/, "host_characters"],
  [/^xn--/, "no_punycode"],
];

/**
 * Accepts an https origin with a host name, or a loopback origin, spelled as browsers spell it. Refuses others with
 * `invalid_parameter`.
 */
export function parseReturnOrigin(text: string): Outcome<string> {
  const rule = originFault(text);
  if (rule === undefined) return accept(text);
  const got = printableLiteral(removeUserInfo(text));
  const origin = suggestReturnOrigin(text);
  return refuseFact("bad_return_origin", { rule, got, instead: origin ?? createPart("example_origin", {}) });
}

/** Accepts a path spelled as browsers spell it (decision 88). Refuses others with `invalid_parameter`. */
export function parseReturnPath(text: string): Outcome<string> {
  const rule =
    text.length > MAX_PATH_CHARACTERS
      ? createPart("length", { most: MAX_PATH_CHARACTERS })
      : (findFault(PATH_FAULTS, [text]) ?? spellingFault(text));
  if (rule === undefined) return accept(text);
  return refuseFact("bad_return_path", { rule, received: printableLiteral(text) });
}

/** Returns the path of a refused origin, or undefined if it is the root, ambiguous or invalid. */
export function suggestReturnPath(text: string): string | undefined {
  const path = suggestReturnOrigin(text) === undefined ? ROOT_PATH : new URL(text).pathname;
  return path !== ROOT_PATH && parseReturnPath(path).ok ? path : undefined;
}

export function formatReturnOrigin({ origin, path }: ReturnOrigin): string {
  return `${origin}${path === ROOT_PATH ? "" : path}`;
}

export function suggestReturnOrigin(text: string): string | undefined {
  const isAmbiguous = /[@\\%]|[^\x21-\x7e]/.test(text);
  const origin = isAmbiguous ? undefined : originOf(text);
  return origin !== undefined && originFault(origin) === undefined ? origin : undefined;
}

/** The return address never contains a status, because a browser's return proves nothing (decision 19). */
export function returnAddress(
  { origin, path }: ReturnOrigin,
  checkout: Pick<Checkout, "orderId" | "id">,
): string {
  return returnUrl(`${origin}${path}`, checkout);
}

export function returnUrl(page: string, { orderId, id }: Pick<Checkout, "orderId" | "id">): string {
  const query = `order_id=${encodeURIComponent(orderId)}&session_id=${encodeURIComponent(id)}`;
  return `${page}${page.includes("?") ? "&" : "?"}${query}`;
}

function originFault(text: string): Part | undefined {
  if (text.length > MAX_ORIGIN_CHARACTERS) return createPart("length", { most: MAX_ORIGIN_CHARACTERS });
  const fault = findFault(TEXT_FAULTS, [text]);
  if (fault !== undefined) return fault;
  const [, scheme = "", authority = "", tail = ""] = URL_PARTS_PATTERN.exec(text) ?? [];
  if (scheme === "") return createPart("with_scheme", {});
  if (authority.includes("@")) return createPart("no_user", {});
  const [, host = "", port] = HOST_AND_PORT_PATTERN.exec(authority) ?? [];
  if (host === "") return createPart("named_host", {});
  if (tail !== "") return tailFault(tail);
  if (text !== text.toLowerCase()) return createPart("lower_case", {});
  const brokenRule = hostFault(host) ?? portFault(port, scheme === "http" ? "http" : "https");
  if (brokenRule !== undefined) return brokenRule;
  if (scheme === "http" && !LOOPBACK_HOSTS.has(host)) {
    return createPart("https_elsewhere", { hosts: [...LOOPBACK_HOSTS] });
  }
  // Catches any other spelling that browsers would change.
  return originOf(text) === text ? undefined : createPart("as_browsers_write", {});
}

function spellingFault(path: string): Part | undefined {
  const { pathname } = new URL(path, "https://shop.example");
  return pathname === path ? undefined : createPart("path_as_browsers_write", { path: pathname });
}

function tailFault(tail: string): Part {
  if (tail === "/") return createPart("no_slash_at_end", {});
  if (tail.startsWith("/")) return createPart("no_path", {});
  return tail.startsWith("?") ? createPart("no_query", {}) : createPart("no_fragment", {});
}

function hostFault(host: string): Part | undefined {
  if (LOOPBACK_HOSTS.has(host)) return undefined;
  if (host.startsWith("[")) return createPart("no_ipv6", {});
  if (host.length > MAX_HOST_CHARACTERS) return createPart("host_length", { most: MAX_HOST_CHARACTERS });
  if (host.endsWith(".")) return createPart("no_dot_at_end", {});
  const labels = host.split(".");
  const fault = findFault(LABEL_FAULTS, labels);
  if (fault !== undefined) return fault;
  if (ENDS_IN_NUMBER.test(host)) {
    return originOf(`https://${host}`) === `https://${host}`
      ? createPart("no_ipv4", {})
      : createPart("no_number_at_end", {});
  }
  return labels.length === 1 ? createPart("dotted_host", {}) : undefined;
}

function portFault(port: string | undefined, scheme: keyof typeof DEFAULT_PORTS): Part | undefined {
  if (port === undefined) return undefined;
  if (port === "") return createPart("port_or_no_colon", {});
  if (!/^\d+$/.test(port)) return createPart("port_digits", {});
  if (Number(port) < 1 || Number(port) > MAX_PORT) return createPart("port_range", { most: MAX_PORT });
  if (port.startsWith("0")) return createPart("port_without_zeros", {});
  return port === DEFAULT_PORTS[scheme] ? createPart("no_default_port", { port, scheme }) : undefined;
}

function findFault(faults: readonly TextFault[], texts: readonly string[]): Part | undefined {
  const rule = faults.find(([pattern]) => texts.some((text) => pattern.test(text)))?.[1];
  return rule && createPart(rule, {});
}

function originOf(text: string): string | undefined {
  return URL.canParse(text) ? new URL(text).origin : undefined;
}

function removeUserInfo(text: string): string {
  const index = text.lastIndexOf("@");
  return index === -1 ? text : `…${text.slice(index)}`;
}

export function decisionsOfReturn({ path }: ReturnOrigin): readonly number[] {
  return path === ROOT_PATH ? [19] : [19, 88];
}
