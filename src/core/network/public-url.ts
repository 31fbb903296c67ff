import { accept, refuse, type Outcome } from "../outcome.ts";

/** Refuses a path, and the portal's `localhost` (decisions 1, 79), without the value: it may have a password. */
export function parsePublicUrl(text: string): Outcome<string> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username + url.password !== "")
    return refuseUrl("expected an http or https URL without user name and password");
  if (url.pathname + url.search + url.hash !== "/" || /[?#]/.test(text))
    return refuseUrl("expected no path, query or fragment, because the pages are at the root of their host");
  if (/^(localhost|\[::1\])$/.test(url.hostname))
    return refuseUrl(
      `localhost belongs to the portal; write ${url.origin.replace(url.hostname, "127.0.0.1")}`,
    );
  if (/^(0\.0\.0\.0|\[::\])$/.test(url.hostname))
    return refuseUrl(
      `${url.hostname} is not an address that a browser can open; use the address in the browser`,
    );
  return accept(url.origin);
}

/** As `parsePublicUrl`, except that `localhost` belongs to the portal and 127.0.0.1 to the payment pages. */
export function parsePortalUrl(text: string): Outcome<string> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.hostname === "127.0.0.1" || url?.hostname === "[::1]")
    return refuseUrl(
      `${url.hostname} belongs to the payment pages; write ${url.origin.replace(url.hostname, "localhost")}`,
    );
  // The rules for any other host are the same.
  const isLocal = url?.hostname === "localhost";
  const read = parsePublicUrl(isLocal ? text.replace(/localhost/i, "127.0.0.1") : text);
  return read.ok && isLocal ? accept(url.origin) : read;
}

/** Undefined if the portal and the payment pages would share a host name (decision 99). */
export function portalOrigin(
  port: number,
  { publicUrl, portalUrl }: Readonly<Record<"publicUrl" | "portalUrl", string | undefined>>,
): string | undefined {
  return portalUrl ?? (publicUrl === undefined ? `http://localhost:${port}` : undefined);
}

/** A proxy may drop the port (decision 79). Two URLs of one sandbox never differ only by the port (decision 99). */
export function hostHeaders(url: string): readonly string[] {
  const { host, hostname } = new URL(url);
  return host === hostname ? [host] : [host, hostname];
}

function refuseUrl(why: string): Outcome<never> {
  return refuse("invalid_parameter", why);
}
