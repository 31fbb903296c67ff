import ipaddr from "ipaddr.js";
import { loopbackAddresses, PORT_PATTERN } from "../loopback.ts";
import { isForbiddenAddress, isPublicAddress } from "../network/ranges.ts";
import { completeAddress, spelledHostOf } from "../network/spelled-address.ts";
import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import { quote } from "../shell/quote.ts";
import { codePointLength, printableLiteral } from "../text.ts";

const MAX_URL_LENGTH = 2048;

const HOST_PATTERN = /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])$/;

/** The schema cannot check the allowed hosts or the sandbox's own port. */
export const TARGET_SCHEMA = {
  maxLength: MAX_URL_LENGTH,
  pattern: `^https?://(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\\[[0-9a-f:.]+\\])(?::${PORT_PATTERN})?(?:[/?][^\\u0000-\\u0020#@]*)?$`,
};

export type TargetPolicy = {
  /** Hosts in addition to loopback, or to public addresses, from `--allow-target`. */
  readonly allowedHosts: readonly string[];
  readonly ownPort: number;
  /**
   * `public`: the sandbox sends to public addresses instead of loopback. Its network resolves names and
   * connects only to public addresses, so no address is pinned (decision 124). Default: loopback.
   */
  readonly reach?: "public";
};

export type DeliveryTarget = {
  readonly url: string;
  readonly port: number;
  readonly host: string;
  /**
   * In connection order; null for an allowed name, which is resolved at each attempt. With `public`, only the host's
   * name.
   */
  readonly addresses: readonly string[] | null;
};

/**
 * Accepts only the canonical spelling, because a URL parser reads `0x7f.1` as 127.0.0.1. Refuses others with
 * `invalid_parameter`.
 */
export function parseTarget(text: string, policy: TargetPolicy): Outcome<DeliveryTarget> {
  const url = codePointLength(text) <= MAX_URL_LENGTH ? URL.parse(text) : null;
  if (text.includes("@")) {
    return refuseFact("target_with_credentials", {});
  }
  const spelledHost = /[\0-\x20]|^https?:\/\/[^/?#]*:0\d+(?:[/?#]|$)/.test(text)
    ? undefined
    : spelledHostOf(text);
  if (url === null || spelledHost === undefined) {
    const receivedText = printableLiteral(text);
    if (url === null && /^https?:\/\/[\w.-]+:\d{5,}(?:[/?]|$)/.test(text))
      return refuseFact("target_port", { received: receivedText });
    const isPath = /^\/(?!\/)/.test(text) && policy.reach !== "public";
    const guess = completeAddress(isPath ? `localhost:3000${text}` : text);
    return guess === undefined
      ? refuseFact("target_not_url", { received: receivedText })
      : refuseFact("target_without_scheme", { received: receivedText, instead: printableLiteral(guess) });
  }
  if (text.includes("#")) {
    return refuseFact("target_with_fragment", { received: printableLiteral(text) });
  }
  const host = url.hostname;
  if (spelledHost !== host) {
    return refuseFact("target_spelling", {
      host: printableLiteral(spelledHost),
      meant: printableLiteral(host),
    });
  }
  if (policy.reach === "public") return publicTarget(url, policy);
  const addresses = loopbackAddresses(host);
  if (addresses === undefined && !policy.allowedHosts.includes(host)) {
    return refuseFact("target_not_local", { host: printableLiteral(host), quoted: quote(host) });
  }
  const port = portOf(url);
  if (port === 0) return refusePortZero();
  if (addresses !== undefined && port === policy.ownPort) return refuseOwnPort(port);
  return accept({ url: url.href, host, port, addresses: addresses ?? null });
}

function publicTarget(url: URL, { allowedHosts, ownPort }: TargetPolicy): Outcome<DeliveryTarget> {
  const { href, hostname: host } = url;
  const port = portOf(url);
  if (port === 0) return refusePortZero();
  if (loopbackAddresses(host) !== undefined && port === ownPort) return refuseOwnPort(port);
  if (allowedHosts.includes(host) || isPublicHost(host))
    return accept({ url: href, host, port, addresses: [host] });
  return refuseFact("target_not_public", { host: printableLiteral(host), quoted: quote(host) });
}

function isPublicHost(host: string): boolean {
  const address = host.replace(/[[\]]/g, "");
  if (!ipaddr.isValid(address)) return !/(^|\.)localhost$/.test(host);
  return isPublicAddress(address);
}

function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

function refuseOwnPort(port: number): Outcome<never> {
  return refuseFact("target_is_sandbox", { port });
}

function refusePortZero(): Outcome<never> {
  return refuseFact("target_port_zero", {});
}

export function checkCa(url: string, ca: string | null | undefined, policy: TargetPolicy): Outcome<void> {
  if (ca === null || ca === undefined) return accept(undefined);
  if (policy.reach === "public") return refuseFact("ca_when_public", {});
  if (url.startsWith("https:")) return accept(undefined);
  return refuseFact("ca_without_https", {});
}

export function parseTargetHost(text: string): Outcome<string> {
  const host = text.toLowerCase();
  const url = `http://${host}/`;
  if (!HOST_PATTERN.test(host) || host.includes("..") || !URL.canParse(url))
    return refuseFact("target_host_form", { received: printableLiteral(text) });
  const { hostname } = new URL(url);
  const address = hostname.replace(/[[\]]/g, "");
  if (ipaddr.isValid(address) && isForbiddenAddress(address))
    return refuseFact("target_never", { host: hostname });
  if (hostname === host) return accept(host);
  return refuseFact("host_spelling", { host: printableLiteral(text), meant: hostname });
}

/** Uses only addresses that were resolved for this attempt, so that DNS cannot change after the check. */
export function filterAddresses(
  target: DeliveryTarget,
  addresses: readonly string[],
  { ownPort }: TargetPolicy,
): Outcome<readonly string[]> {
  if (target.addresses !== null) return accept(target.addresses);
  const allowedAddresses = addresses.filter((address) => {
    if (!isPlainAddress(address) || isForbiddenAddress(address)) return false;
    return ipaddr.process(address).range() !== "loopback" || target.port !== ownPort;
  });
  if (allowedAddresses.length > 0) return accept(allowedAddresses);
  const addressesText = addresses.length === 0 ? "no address" : addresses.join(", ");
  return refuseFact("target_resolves", { host: target.host, addresses: addressesText });
}

/** Refuses with `invalid_parameter` a name that resolves to no address, or only to forbidden addresses. */
export async function resolveTargetHost(
  host: string,
  resolve: (name: string) => Promise<readonly string[]>,
  ownPort: number,
): Promise<Outcome<readonly string[]>> {
  const addresses = loopbackAddresses(host);
  if (addresses !== undefined) return accept(addresses);
  const target = { url: `http://${host}/`, port: 80, host, addresses: null };
  return filterAddresses(target, await resolve(host), { allowedHosts: [host], ownPort });
}

/** False for an address that programs read differently, such as `010.0.0.1`. */
function isPlainAddress(address: string): boolean {
  const dottedAddress = /^::ffff:([\d.]+)$/i.exec(address)?.[1] ?? address;
  // ipaddr.js reads every IPv6 address with a dotted end as IPv4-mapped, including `::10.0.0.1`.
  if (address.includes(".")) return ipaddr.IPv4.isValidFourPartDecimal(dottedAddress);
  return ipaddr.IPv6.isValid(address);
}
