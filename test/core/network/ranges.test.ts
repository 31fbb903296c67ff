import ipaddr from "ipaddr.js";
import { expect, test } from "vitest";
import {
  deniedRanges,
  isForbiddenAddress,
  isPublicAddress,
  FORBIDDEN_RANGES,
  PRIVATE_RANGES,
} from "../../../src/core/network/ranges.ts";
import { filterAddresses, parseTarget, resolveTargetHost } from "../../../src/core/webhook/target.ts";
import { edgesOf } from "../../support/ranges.ts";

const OWN_PORT = 4242;
const bracketed = (address: string): string => (address.includes(":") ? `[${address}]` : address);
const isLoopback = (address: string): boolean => ipaddr.parse(address).range() === "loopback";

/** Addresses of forbidden, private and public ranges, with their classes. */
const ROWS: readonly (readonly [address: string, verdict: "never" | "private" | "public"])[] = [
  ["169.254.169.254", "never"],
  ["100.100.100.200", "never"],
  ["168.63.129.16", "never"],
  ["192.0.0.192", "never"],
  ["fd00:ec2::254", "never"],
  ["fd20:ce::254", "never"],
  ["0.0.0.0", "never"],
  ["::", "never"],
  ["64:ff9b::a9fe:a9fe", "never"],
  ["64:ff9b:1::a00:1", "never"],
  ["2002:a00:1::1", "never"],
  ["2001:0:1::1", "never"],
  ["::ffff:0:a00:1", "never"],
  ["::a00:1", "never"],
  ["::ffff:169.254.169.254", "never"],
  ["fec0::1", "never"],
  ["fe80::1", "never"],
  ["198.18.0.1", "never"],
  ["198.19.255.255", "never"],
  ["192.0.2.1", "never"],
  ["198.51.100.7", "never"],
  ["203.0.113.9", "never"],
  ["2001:db8::1", "never"],
  ["3fff::1", "never"],
  ["100::1", "never"],
  ["2001:2::1", "never"],
  ["255.255.255.255", "never"],
  ["224.0.0.1", "never"],
  ["ff02::1", "never"],
  ["10.0.0.1", "private"],
  ["172.31.0.1", "private"],
  ["192.168.1.1", "private"],
  ["100.64.0.1", "private"],
  ["::ffff:10.0.0.1", "private"],
  ["fd12::1", "private"],
  ["127.0.0.1", "private"],
  ["::1", "private"],
  ["8.8.8.8", "public"],
  ["100.128.0.1", "public"],
  ["198.20.0.1", "public"],
  ["2606:4700::1111", "public"],
  ["::ffff:8.8.8.8", "public"],
];

test("every address is classified as forbidden, private or public", () => {
  const verdicts = ROWS.map(([address]) => [
    address,
    isForbiddenAddress(address) ? "never" : isPublicAddress(address) ? "public" : "private",
  ]);
  expect(verdicts).toEqual(ROWS);
});

test("the first and last address of every forbidden range are refused, in a URL of a hosted service and as the address of an allowed name", async () => {
  for (const address of FORBIDDEN_RANGES.flatMap(edgesOf).filter((edge) => !isLoopback(edge))) {
    const target = { url: "http://shop.example/", host: "shop.example", port: 80, addresses: null };
    const policy = { allowedHosts: ["shop.example"], ownPort: OWN_PORT };
    expect([address, filterAddresses(target, [address], policy).ok]).toEqual([address, false]);
    const hosted = { allowedHosts: [], ownPort: OWN_PORT, reach: "public" } as const;
    expect([address, parseTarget(`http://${bracketed(address)}/`, hosted).ok]).toEqual([address, false]);
    const resolved = await resolveTargetHost("shop.example", () => Promise.resolve([address]), OWN_PORT);
    expect([address, resolved.ok]).toEqual([address, false]);
  }
  for (const address of PRIVATE_RANGES.flatMap(edgesOf)) expect(isPublicAddress(address)).toBe(false);
});

test("an allowed host name permits only resolved addresses that a receiver can have", async () => {
  const resolve = () => Promise.resolve(["169.254.169.254", "192.168.1.20", "0.0.0.0", "64:ff9b::1"]);
  expect(await resolveTargetHost("shop.example", resolve, OWN_PORT)).toEqual({
    ok: true,
    value: ["192.168.1.20"],
  });
  expect(await resolveTargetHost("localhost", resolve, OWN_PORT)).toMatchObject({ ok: true });
});

test("the Worker runtime's network denies every forbidden and private range, and all IPv4-mapped addresses", () => {
  expect(deniedRanges()).toEqual([...FORBIDDEN_RANGES, ...PRIVATE_RANGES, "::ffff:0:0/96"]);
});
