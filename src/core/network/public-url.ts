import { accept, refuse, type Outcome } from "../outcome.ts";

/**
 * Reads the address that payers reach the payment pages at, and returns its origin. Refuses with `invalid_parameter` a
 * path, because pages are at the root, and `localhost`, which belongs to the portal (decisions 1 and 79). The value is
 * not repeated: it may hold a password.
 */
export function parsePublicUrl(text: string): Outcome<string> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username + url.password !== "")
    return refused("expected an http or https URL without user name and password");
  if (url.pathname + url.search + url.hash !== "/" || /[?#]/.test(text))
    return refused("expected no path, query or fragment, because the pages are at the root of their host");
  if (/^(localhost|\[::1\])$/.test(url.hostname))
    return refused(`localhost belongs to the portal; write ${url.origin.replace(url.hostname, "127.0.0.1")}`);
  if (/^(0\.0\.0\.0|\[::\])$/.test(url.hostname))
    return refused(`${url.hostname} is no address that a browser can open; name the one that it opens`);
  return accept(url.origin);
}

/**
 * Reads the address that a browser reaches the portal at, and returns its origin. Refuses with `invalid_parameter` what
 * `parsePublicUrl` refuses, but not `localhost`: that is the portal's, and 127.0.0.1 is the payment pages'.
 */
export function parsePortalUrl(text: string): Outcome<string> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.hostname === "127.0.0.1" || url?.hostname === "[::1]")
    return refused(
      `${url.hostname} belongs to the payment pages; write ${url.origin.replace(url.hostname, "localhost")}`,
    );
  // The rules for any other host are the same.
  const isLocal = url?.hostname === "localhost";
  const read = parsePublicUrl(isLocal ? text.replace(/localhost/i, "127.0.0.1") : text);
  return read.ok && isLocal ? accept(url.origin) : read;
}

/**
 * The origin of the portal of a sandbox on a port; undefined where it has none, because payers reach the pages under a
 * name that they would share with it (decision 99).
 */
export function portalOrigin(
  port: number,
  { publicUrl, portalUrl }: Readonly<Record<"publicUrl" | "portalUrl", string | undefined>>,
): string | undefined {
  return portalUrl ?? (publicUrl === undefined ? `http://localhost:${port}` : undefined);
}

function refused(why: string): Outcome<never> {
  return refuse("invalid_parameter", why);
}
