import type { Checkout } from "./checkout.ts";
import { LOOPBACK_NAMES } from "../loopback.ts";
import { accept, refuse, type Outcome } from "../outcome.ts";
import { printableLiteral, refuseValue } from "../text.ts";

/** Where customers of a store may be sent back to: an origin (decision 19), and the path on it (decision 88). */
export type ReturnOrigin = { readonly origin: string; readonly path: string };

/** The path of an origin that was registered without one. */
export const ROOT_PATH = "/";

/** Maximum length of a path, in characters. */
const MAX_PATH_CHARACTERS = 256;
/** `https://` and the longest host that DNS knows. */
const MAX_ORIGIN_CHARACTERS = 261;
const MAX_HOST_CHARACTERS = 253;
const MAX_PORT = 65_535;

/** The hosts for which plain HTTP is accepted: their traffic does not leave this machine. */
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(LOOPBACK_NAMES);
const DEFAULT_PORTS = { http: "80", https: "443" } as const;
const EXAMPLE = "for example https://shop.example, or http://localhost:3000 for this machine";

const PARTS = /^(https?):\/\/([^/?#]*)(.*)$/i;
const HOST_AND_PORT = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/;
/** Browsers read a host as an IPv4 address if its last part is a number. */
const ENDS_IN_NUMBER = /(^|\.)(\d+|0x[0-9a-f]*)$/;

/** A forbidden part of an origin, and the rule that it breaks. */
type Fault = readonly [held: RegExp, rule: string];

const TEXT_FAULTS: readonly Fault[] = [
  [/[\s\p{Cc}]/u, "hold no blank, line break or control character"],
  [/[^\x21-\x7e]/, "be plain ASCII: letters beyond it cannot be told from look-alikes"],
  [/\\/, "hold no backslash: browsers read it as a slash"],
  [/\*/, "name one host, without a wildcard"],
  [/^null$/, "be an address: null is what browsers send for pages that have no origin"],
];

const PATH_FAULTS: readonly Fault[] = [
  [/[\s\p{Cc}]/u, "hold no blank, line break or control character"],
  [/[^\x21-\x7e]/, "be plain ASCII, other characters percent-encoded"],
  [/\\/, "hold no backslash: browsers read it as a slash"],
  [/^[^/]|^$/, "begin with a slash"],
  [/^\/\//, "begin with one slash: two begin a host"],
  [/\?/, "have no query: order_id and session_id are added"],
  [/#/, "have no fragment"],
];

const LABEL_FAULTS: readonly Fault[] = [
  [/^$/, "have no empty part between the dots of its host"],
  [/^.{64}/, "have at most 63 characters between the dots of its host"],
  [/%/, "have a host without percent-encoding"],
  [/^-|-$|[^a-z0-9-]/, "have a host of letters, digits and inner hyphens"],
  [/^xn--/, "have a host without xn--: what stands for other letters cannot be told from look-alikes"],
];

/**
 * Parses the origin that customers may be sent back to (decision 19): exactly as browsers write it, https with a name,
 * or http on this machine. Refuses with `invalid_parameter`; the message says what was expected, what came, what to
 * write.
 */
export function parseReturnOrigin(text: string): Outcome<string> {
  const rule = brokenRule(text);
  if (rule === undefined) return accept(text);
  const got = printableLiteral(withoutUser(text));
  const instead = meantOrigin(text) ?? EXAMPLE;
  return refuse("invalid_parameter", `a return origin must ${rule}; got ${got}; write ${instead}`);
}

/**
 * Parses the path on an origin that customers are sent back to (decision 88), exactly as browsers write it. Refuses with
 * `invalid_parameter`.
 */
export function parseReturnPath(text: string): Outcome<string> {
  const rule =
    text.length > MAX_PATH_CHARACTERS
      ? `have at most ${MAX_PATH_CHARACTERS} characters`
      : (firstRule(PATH_FAULTS, [text]) ?? spellingRule(text));
  if (rule === undefined) return accept(text);
  return refuseValue(`a return path must ${rule}`, text);
}

/** The path that stands behind a refused origin, if that is clear; undefined for the root too. */
export function meantPath(text: string): string | undefined {
  const path = meantOrigin(text) === undefined ? ROOT_PATH : new URL(text).pathname;
  return path !== ROOT_PATH && parseReturnPath(path).ok ? path : undefined;
}

/** The address that customers are sent back to, without the ids; the root is left out. */
export function returnText({ origin, path }: ReturnOrigin): string {
  return `${origin}${path === ROOT_PATH ? "" : path}`;
}

/** Whether a text is such an address. */
export function isReturnText(text: string): boolean {
  const slash = text.indexOf("/", text.indexOf("://") + 3);
  const [origin, path] = slash < 0 ? [text, ROOT_PATH] : [text.slice(0, slash), text.slice(slash)];
  return parseReturnOrigin(origin).ok && parseReturnPath(path).ok && returnText({ origin, path }) === text;
}

/** The origin that a refused text clearly means; undefined if it is ambiguous. */
export function meantOrigin(text: string): string | undefined {
  const isDoubtful = /[@\\%]|[^\x21-\x7e]/.test(text);
  const origin = isDoubtful ? undefined : originOf(text);
  return origin !== undefined && brokenRule(origin) === undefined ? origin : undefined;
}

/** Where a customer goes back to: never with a status, because a browser's return proves nothing (decision 19). */
export function returnAddress(
  { origin, path }: ReturnOrigin,
  checkout: Pick<Checkout, "orderId" | "id">,
): string {
  return returnPage(`${origin}${path}`, checkout);
}

/** The same for a page of the merchant's own, which may have a query but no fragment. */
export function returnPage(page: string, { orderId, id }: Pick<Checkout, "orderId" | "id">): string {
  const query = `order_id=${encodeURIComponent(orderId)}&session_id=${encodeURIComponent(id)}`;
  return `${page}${page.includes("?") ? "&" : "?"}${query}`;
}

/** The first rule that a text breaks: rules for the whole text first, then for its parts. */
function brokenRule(text: string): string | undefined {
  if (text.length > MAX_ORIGIN_CHARACTERS) return `have at most ${MAX_ORIGIN_CHARACTERS} characters`;
  const fault = firstRule(TEXT_FAULTS, [text]);
  if (fault !== undefined) return fault;
  const [, scheme = "", authority = "", rest = ""] = PARTS.exec(text) ?? [];
  if (scheme === "") return "begin with https://, or with http:// for this machine";
  if (authority.includes("@")) return "hold no user name and no password";
  const [, host = "", port] = HOST_AND_PORT.exec(authority) ?? [];
  if (host === "") return "name a host";
  if (rest !== "") return restRule(rest);
  if (text !== text.toLowerCase()) return "be in lower case";
  const broken = hostRule(host) ?? portRule(port, scheme === "http" ? "http" : "https");
  if (broken !== undefined) return broken;
  if (scheme === "http" && !LOOPBACK_HOSTS.has(host)) {
    return `begin with https://: http:// is for this machine alone, as ${[...LOOPBACK_HOSTS].join(", ")}`;
  }
  // This is the rule; the checks above only name the reason.
  return originOf(text) === text ? undefined : "be written as browsers write it";
}

/** A path that a browser would send otherwise: with dots that lead elsewhere, or unencoded characters. */
function spellingRule(path: string): string | undefined {
  const { pathname } = new URL(path, "https://shop.example");
  return pathname === path ? undefined : `be written as browsers write it: ${pathname}`;
}

function restRule(rest: string): string {
  if (rest === "/") return "end without a slash";
  if (rest.startsWith("/")) return "end before the path";
  return rest.startsWith("?") ? "have no query" : "have no fragment";
}

function hostRule(host: string): string | undefined {
  if (LOOPBACK_HOSTS.has(host)) return undefined;
  if (host.startsWith("[")) return "have a name as its host: of IPv6 addresses only [::1] is taken";
  if (host.length > MAX_HOST_CHARACTERS) return `have a host of at most ${MAX_HOST_CHARACTERS} characters`;
  if (host.endsWith(".")) return "have a host without a dot at its end";
  const labels = host.split(".");
  const fault = firstRule(LABEL_FAULTS, labels);
  if (fault !== undefined) return fault;
  if (ENDS_IN_NUMBER.test(host)) {
    return originOf(`https://${host}`) === `https://${host}`
      ? "have a name as its host: of IPv4 addresses only 127.0.0.1 is taken"
      : "have no host that ends in a number: browsers make another address of it";
  }
  return labels.length === 1 ? "have a host with a dot in it, or localhost" : undefined;
}

function portRule(port: string | undefined, scheme: keyof typeof DEFAULT_PORTS): string | undefined {
  if (port === undefined) return undefined;
  if (port === "") return "have a port behind its colon, or no colon";
  if (!/^\d+$/.test(port)) return "have a port of digits alone";
  if (Number(port) < 1 || Number(port) > MAX_PORT) return `have a port from 1 to ${MAX_PORT}`;
  if (port.startsWith("0")) return "have a port without leading zeros";
  return port === DEFAULT_PORTS[scheme] ? `leave out ${port}, the port of ${scheme} itself` : undefined;
}

function firstRule(faults: readonly Fault[], texts: readonly string[]): string | undefined {
  return faults.find(([held]) => texts.some((text) => held.test(text)))?.[1];
}

function originOf(text: string): string | undefined {
  return URL.canParse(text) ? new URL(text).origin : undefined;
}

/** A message must not show a password. */
function withoutUser(text: string): string {
  const at = text.lastIndexOf("@");
  return at === -1 ? text : `…${text.slice(at)}`;
}
