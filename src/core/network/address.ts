import ipaddr from "ipaddr.js";
import { isLoopback } from "../loopback.ts";
import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import { printableLiteral } from "../text.ts";

/** An IP address without brackets, such as `0.0.0.0` or `::1`. */
export type ListenAddress = string;

/** Accepts IPv6 with or without brackets. Refuses names and other spellings with `invalid_parameter` (decision 79). */
export function parseListenAddress(text: string): Outcome<ListenAddress> {
  const address = text.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  const isPlain = address.includes(":")
    ? ipaddr.IPv6.isValid(address) && !/[.%]/.test(address)
    : ipaddr.IPv4.isValidFourPartDecimal(address);
  if (isPlain) return accept(ipaddr.parse(address).toString());
  return refuseFact("listen_address", { received: printableLiteral(text) });
}

export function isLoopbackAddress(address: string): boolean {
  return isLoopback(hostOf(address));
}

export function hostOf(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}

/** Always includes loopback, either alone or as part of `0.0.0.0` or `::`. */
export function listenAddresses(
  moreAddresses: readonly ListenAddress[],
): readonly { readonly address: string; readonly isOptional: boolean }[] {
  const [ipv4, ipv6] = [
    moreAddresses.includes("0.0.0.0") ? "0.0.0.0" : "127.0.0.1",
    moreAddresses.includes("::") ? "::" : "::1",
  ];
  // ::1 is optional, because a machine may have no IPv6; an address that the user named is not optional.
  const ownAddresses = [
    { address: ipv4, isOptional: false },
    { address: ipv6, isOptional: !moreAddresses.includes(ipv6) },
  ];
  const isCovered = (address: string): boolean =>
    ownAddresses.some((ownAddress) => ownAddress.address === address) ||
    (address.includes(":") ? ipv6 === "::" : ipv4 === "0.0.0.0");
  const otherAddresses = [...new Set(moreAddresses)].filter((address) => !isCovered(address));
  return [...ownAddresses, ...otherAddresses.map((address) => ({ address, isOptional: false }))];
}
