// A local sandbox checks these ranges itself; a hosted service passes them to its runtime's network.
import ipaddr from "ipaddr.js";
import { lazyValue } from "../lazy.ts";

/** Ranges that have no receivers, serve cloud metadata or hide IPv4 addresses (decision 14). */
export const FORBIDDEN_RANGES = [
  "0.0.0.0/8", // this network
  "169.254.0.0/16", // link-local, with the metadata address of most clouds
  "100.100.100.200/32", // metadata: Alibaba
  "168.63.129.16/32", // metadata: Azure
  "192.0.0.0/24", // protocol assignments, with the metadata address of Oracle
  "192.0.2.0/24", // documentation
  "192.31.196.0/24", // AS112
  "192.52.193.0/24", // automatic multicast tunnels
  "192.88.99.0/24", // 6to4 relays
  "192.175.48.0/24", // AS112
  "198.18.0.0/15", // benchmarking
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast
  "::/96", // IPv4-compatible, and unspecified; isForbiddenAddress exempts ::1
  "::ffff:0:0:0/96", // IPv4-translated
  "64:ff9b::/96", // NAT64
  "64:ff9b:1::/48", // NAT64 within one network
  "100::/64", // discard-only
  "100:0:0:1::/64", // dummy addresses
  "2001::/23", // protocol assignments, with Teredo, benchmarking and ORCHID
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4
  "2620:4f:8000::/48", // AS112
  "3fff::/20", // documentation
  "5f00::/16", // segment routing
  "fd00:ec2::/32", // metadata: AWS
  "fd20:ce::/32", // metadata: Google
  "fd00:c1::/32", // metadata: Oracle
  "fd00:42::/32", // metadata: Scaleway
  "fe80::/10", // link-local
  "fec0::/10", // site-local, no longer in use
  "ff00::/8", // multicast
] as const;

/** A hosted service sends nothing to these ranges by default. */
export const PRIVATE_RANGES = [
  "10.0.0.0/8",
  "100.64.0.0/10", // carrier-grade NAT
  "127.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "::1/128",
  "fc00::/7",
] as const;

/** Needed because the runtime's network does not match IPv4-mapped addresses with IPv4 ranges. */
const IPV4_MAPPED_RANGE = "::ffff:0:0/96";

type Range = ReturnType<typeof ipaddr.parseCIDR>;

// Parsed at the first check, because parsing would delay every start.
const forbiddenRanges = lazyValue(() => FORBIDDEN_RANGES.map(parseRange));
const privateRanges = lazyValue(() => PRIVATE_RANGES.map(parseRange));

export function isForbiddenAddress(address: string): boolean {
  const parsedAddress = ipaddr.process(address);
  return parsedAddress.range() !== "loopback" && isIn(forbiddenRanges(), parsedAddress);
}

export function isPublicAddress(address: string): boolean {
  return !isForbiddenAddress(address) && !isIn(privateRanges(), ipaddr.process(address));
}

/** The network of a hosted service connects to these ranges only if an address in them is allowed. */
export function deniedRanges(): readonly string[] {
  return [...FORBIDDEN_RANGES, ...PRIVATE_RANGES, IPV4_MAPPED_RANGE];
}

function isIn(ranges: readonly Range[], address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return ranges.some(([block, bits]) => {
    if (address instanceof ipaddr.IPv4) return block instanceof ipaddr.IPv4 && address.match(block, bits);
    return block instanceof ipaddr.IPv6 && address.match(block, bits);
  });
}

function parseRange(text: string): Range {
  return ipaddr.parseCIDR(text);
}
