/** Gives names the addresses that NAMES_STUB says, as the resolver of a network of containers does: name=address,… */
import dns from "node:dns";

const names = new Map((process.env.NAMES_STUB ?? "").split(",").map((pair) => pair.split("=")));
const { lookup } = dns;
const { lookup: lookupLater } = dns.promises;

dns.lookup = (host, ...rest) => lookup(names.get(host) ?? host, ...rest);
dns.promises.lookup = (host, options) => lookupLater(names.get(host) ?? host, options);
