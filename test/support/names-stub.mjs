/** Resolves names to the addresses in NAMES_STUB (name=address,…), as the resolver of a container network does. */
import dns from "node:dns";

const names = new Map((process.env.NAMES_STUB ?? "").split(",").map((pair) => pair.split("=")));
const { lookup } = dns;
const { lookup: lookupLater } = dns.promises;

dns.lookup = (host, ...rest) => lookup(names.get(host) ?? host, ...rest);
dns.promises.lookup = (host, options) => lookupLater(names.get(host) ?? host, options);
