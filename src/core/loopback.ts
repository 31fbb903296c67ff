import { accept, type Outcome } from "./outcome.ts";
import { refuseFact } from "./refusals.ts";
import { printableLiteral } from "./text.ts";

export const LOOPBACK_NAMES = ["127.0.0.1", "localhost", "[::1]"] as const;

export const PORT_PATTERN = "(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d\\d|655[0-2]\\d|6553[0-5])";

/** The names are in lower case; `flag` is the option that allows another name. */
export type AllowedHosts = { readonly names: ReadonlySet<string>; readonly flag: string };

export function allowedHosts(
  port: number,
  options: {
    readonly flag: string;
    readonly hosts: readonly string[];
    readonly ownNames?: readonly string[];
  },
): AllowedHosts {
  const { flag, hosts, ownNames = LOOPBACK_NAMES } = options;
  const addedNames = hosts.flatMap((host) => (/:\d+$/.test(host) ? [host] : [host, `${host}:${port}`]));
  const names = [...ownNames.map((own) => `${own}:${port}`), ...addedNames.map((name) => name.toLowerCase())];
  return { flag, names: new Set(names) };
}

/**
 * Prevents a page of another site from reaching the server by DNS rebinding (decisions 3, 58). Refusals do not list the
 * allowed names, because the names of tunnels are secret.
 */
export function checkHost(hosts: readonly string[], { names, flag }: AllowedHosts): Outcome<void> {
  const [host] = hosts;
  if (host === undefined || hosts.length > 1)
    return refuseFact("host_lines", { received: String(hosts.length) });
  if (names.has(host.toLowerCase())) return accept(undefined);
  // A tunnel or a port mapping may send an allowed name with another port.
  const facts = { host: printableLiteral(host.replace(/^.*@/, "…@")), flag };
  return refuseFact(/:\d+$/.test(host) ? "host_port_not_allowed" : "host_not_allowed", facts);
}

/** True for `localhost` and names below it, `[::1]`, and addresses in 127.0.0.0/8. */
export function isLoopback(hostname: string): boolean {
  return loopbackAddresses(hostname) !== undefined;
}

/**
 * Returns the addresses in the order to try, or undefined for other hosts. `localhost` is not looked up (RFC 6761 6.3).
 */
export function loopbackAddresses(hostname: string): readonly string[] | undefined {
  if (/(?:^|[^.]\.)localhost$/.test(hostname)) return ["127.0.0.1", "::1"];
  if (hostname === "[::1]") return ["::1"];
  const parts = hostname.split(".");
  const isIpv4 = parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && isOctet(part));
  return isIpv4 && parts[0] === "127" ? [hostname] : undefined;
}

export function isSameServer(leftUrl: string, rightUrl: string): boolean {
  const [left, right] = [new URL(leftUrl), new URL(rightUrl)];
  const isLoopbackHttp = ({ protocol, hostname }: URL): boolean =>
    protocol === "http:" && LOOPBACK_NAMES.some((name) => name === hostname);
  return (
    left.origin === right.origin ||
    (isLoopbackHttp(left) && isLoopbackHttp(right) && left.port === right.port)
  );
}

/** `[::1]` on a machine without IPv4 (decision 79). */
export type LoopbackHost = "127.0.0.1" | "[::1]";

export function localOrigin(port: number, host: LoopbackHost = "127.0.0.1"): string {
  return `http://${host}:${port}`;
}

/** Refuses leading zeros, because some programs read such a number as octal. */
function isOctet(part: string): boolean {
  return String(Number(part)) === part && Number(part) <= 255;
}
