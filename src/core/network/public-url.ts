import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";

/** Refuses a path, the portal's hosts and wildcard addresses (decisions 1, 79). No message shows a password. */
export function parsePublicUrl(text: string): Outcome<string> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username + url.password !== "")
    return refuseFact("public_url_form", {});
  if (url.pathname + url.search + url.hash !== "/" || /[?#]/.test(text))
    return refuseFact("public_url_path", {});
  if (/^(localhost|\[::1\])$/.test(url.hostname))
    return refuseFact("host_of_portal", { instead: url.origin.replace(url.hostname, "127.0.0.1") });
  if (/^(0\.0\.0\.0|\[::\])$/.test(url.hostname))
    return refuseFact("host_without_browser", { host: url.hostname });
  return accept(url.origin);
}

export function parsePortalUrl(text: string): Outcome<string> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.hostname === "127.0.0.1" || url?.hostname === "[::1]")
    return refuseFact("host_of_payment_pages", {
      host: url.hostname,
      instead: url.origin.replace(url.hostname, "localhost"),
    });
  const isLocal = url?.hostname === "localhost";
  const result = parsePublicUrl(isLocal ? text.replace(/localhost/i, "127.0.0.1") : text);
  return result.ok && isLocal ? accept(url.origin) : result;
}

/**
 * With a public URL alone there is no portal, because it would share a host name with the payment pages (decision 99).
 */
export function portalOrigin(
  port: number,
  { publicUrl, portalUrl }: Readonly<Record<"publicUrl" | "portalUrl", string | undefined>>,
): string | undefined {
  return portalUrl ?? (publicUrl === undefined ? `http://localhost:${port}` : undefined);
}

/** Includes the host without its port, because a proxy may drop the port (decision 79). */
export function hostHeaders(url: string): readonly string[] {
  const { host, hostname } = new URL(url);
  return host === hostname ? [host] : [host, hostname];
}
