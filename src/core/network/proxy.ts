import { BlockList, isIP } from "node:net";
import { isLoopback } from "../loopback.ts";
import { accept, type Outcome } from "../outcome.ts";

type Proxy = {
  readonly value: string;
  readonly source: string;
};

/** Omits the variable's value, because it may contain a password. */
type ProxyFault = { readonly variable: string };

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Reads HTTPS_PROXY or HTTP_PROXY, by the URL's scheme, else ALL_PROXY; lower-case names take precedence. Returns
 * undefined for hosts in NO_PROXY and for loopback (decision 80).
 */
export function proxyFor(address: string, env: Env): Outcome<Proxy | undefined, ProxyFault> {
  const url = new URL(address);
  if (isLoopback(url.hostname)) return accept(undefined);
  const ownName = url.protocol === "https:" ? "https_proxy" : "http_proxy";
  const namedProxy = findProxyVariable(env, ownName) ?? findProxyVariable(env, "all_proxy");
  if (namedProxy === undefined || isExcluded(url, findProxyVariable(env, "no_proxy")?.value ?? ""))
    return accept(undefined);
  const proxy = parseProxy(namedProxy.value);
  if (proxy === undefined) return { ok: false, refusal: { variable: namedProxy.variable } };
  return accept({ value: proxy, source: namedProxy.variable });
}

export function displayProxy(proxy: string): string {
  const { protocol, host } = new URL(proxy);
  return `${protocol}//${host}`;
}

function findProxyVariable(
  env: Env,
  name: string,
): { readonly variable: string; readonly value: string } | undefined {
  const variable = [name, name.toUpperCase()].find((candidate) => (env[candidate] ?? "").trim() !== "");
  return variable === undefined ? undefined : { variable, value: (env[variable] ?? "").trim() };
}

function parseProxy(text: string): string | undefined {
  const fullUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.canParse(fullUrl) ? new URL(fullUrl) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined;
  return url.pathname + url.search + url.hash === "/" && isDecodable(url) ? url.href : undefined;
}

function isDecodable({ username, password }: URL): boolean {
  return /^(?:[^%]|%[0-9a-f]{2})*$/i.test(username + password);
}

/** NO_PROXY can list hosts, parent domains, addresses, address ranges, or `*`. */
function isExcluded({ hostname, port, protocol }: URL, noProxy: string): boolean {
  const usedPort = port === "" ? (protocol === "https:" ? "443" : "80") : port;
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .some((entry) => matchesHost(entry, host, usedPort));
}

function matchesHost(entry: string, host: string, port: string): boolean {
  if (entry === "*") return true;
  if (entry.includes("/")) return isInRange(entry, host);
  // Matches `name:port` and `[::1]:port`; a bare IPv6 address cannot have a port.
  const [, ipv6, plainHost, entryPort = port] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(entry) ?? [];
  if (entryPort !== port) return false;
  const name = (ipv6 ?? plainHost ?? entry).replace(/^\*?\./, "").replace(/\.$/, "");
  if (isIP(name) > 0 && isIP(host) > 0) return isInRange(name, host);
  return host === name || host.endsWith(`.${name}`);
}

function isInRange(range: string, host: string): boolean {
  const [, network = "", bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(range) ?? [];
  const maxBits = isIP(network) === 4 ? 32 : 128;
  const length = bits === undefined ? maxBits : Number(bits);
  if (isIP(network) === 0 || isIP(host) === 0 || length > maxBits) return false;
  const addresses = new BlockList();
  addresses.addSubnet(network, length, familyOf(network));
  return addresses.check(host, familyOf(host));
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 4 ? "ipv4" : "ipv6";
}
