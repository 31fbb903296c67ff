/** The names that a server of this machine goes by, as they stand in a URL and in a Host header. */
export const LOOPBACK_NAMES = ["127.0.0.1", "localhost", "[::1]"] as const;

/** Whether the host of a URL is this machine: `localhost`, `[::1]`, or an IPv4 address from 127.0.0.0/8. */
export function isLoopback(hostname: string): boolean {
  return loopbackAddresses(hostname) !== undefined;
}

/**
 * The addresses that a loopback host stands for, in the order to try; undefined for any other host. `localhost` is
 * either of the two, and is never looked up.
 */
export function loopbackAddresses(hostname: string): readonly string[] | undefined {
  if (hostname === "localhost") return ["127.0.0.1", "::1"];
  if (hostname === "[::1]") return ["::1"];
  const parts = hostname.split(".");
  const isIpv4 = parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && isOctet(part));
  return isIpv4 && parts[0] === "127" ? [hostname] : undefined;
}

/** The origin of a server on this machine that customers and clients are sent to (decision 1). */
export function localOrigin(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/** From 0 to 255, with no zero in front: some programs read that as octal. */
function isOctet(part: string): boolean {
  return String(Number(part)) === part && Number(part) <= 255;
}
