import { checkHost, type AllowedHosts } from "../core/loopback.ts";
import { hostHeaders } from "../core/network/public-url.ts";
import { accept, type Outcome } from "../core/outcome.ts";
import { refuseFact } from "../core/refusals.ts";
import { printableLiteral } from "../core/text.ts";
import type { HttpRequest } from "../world.ts";
import { headerLines } from "./http.ts";

/**
 * Requires exactly one Host, which names this server (decision 58), or in requests from other machines a name in
 * `remote` (decision 79). Also refuses CONNECT, unknown expectations and targets that are not a path.
 */
export function guardRequest(
  request: HttpRequest,
  { local: localHosts, remote: remoteHosts }: { readonly local: AllowedHosts; readonly remote: AllowedHosts },
): Outcome<void> {
  const host = checkHost(
    headerLines(request, "host"),
    request.isFromOutside === true ? remoteHosts : localHosts,
  );
  if (!host.ok) return host;
  if (request.method === "CONNECT") {
    return refuseFact("not_a_proxy", {}, { allow: "GET, POST" });
  }
  const expectation = headerLines(request, "expect").find((value) => value.toLowerCase() !== "100-continue");
  if (expectation !== undefined) {
    return refuseFact("expectation", { received: printableLiteral(expectation) });
  }
  if (!request.target.startsWith("/")) {
    return refuseFact("no_path", { received: printableLiteral(request.target) });
  }
  return accept(undefined);
}

/**
 * Refuses a request with an Origin (`origin_not_allowed`), because it comes from a page instead of a server (decision
 * 58).
 */
export function refuseBrowsers(request: HttpRequest): Outcome<void> {
  const [origin] = headerLines(request, "origin");
  if (origin === undefined) return accept(undefined);
  return refuseFact("origin_not_allowed", { origin: printableLiteral(origin) });
}

/**
 * Accepts only forms of this server's own pages (decision 40). Without `Sec-Fetch-Site`, Origin must be this host, or
 * `publicOrigin`, because a proxy may have changed the Host.
 */
export function requireOwnPage(request: HttpRequest, publicOrigin: string): Outcome<void> {
  const sites = headerLines(request, "sec-fetch-site");
  const origins = headerLines(request, "origin");
  const [host = ""] = headerLines(request, "host");
  const [, ...bareHosts] = hostHeaders(publicOrigin);
  // A Host without a port is not used as an origin: another program may serve pages at the default port.
  const ownOrigins = bareHosts.includes(host.toLowerCase())
    ? [publicOrigin]
    : [`http://${host}`, `https://${host}`, publicOrigin];
  const isOwnPage =
    sites.length === 0
      ? origins.length === 1 && ownOrigins.includes(origins[0] ?? "")
      : sites.join() === "same-origin";
  if (isOwnPage) return accept(undefined);
  const receivedTexts = [
    ...sites.map((site) => `Sec-Fetch-Site ${site}`),
    ...origins.map((origin) => `Origin ${origin}`),
  ];
  return receivedTexts.length === 0
    ? refuseFact("form_of_no_page", {})
    : refuseFact("form_of_other_page", { received: printableLiteral(receivedTexts.join(", ")) });
}

/**
 * Lets pages of other origins only link here (a GET navigation), and not even that if `opens` is "from its own pages".
 * Programs other than browsers send no Sec-Fetch-Site and pass.
 */
export function refuseForeignPages(
  request: HttpRequest,
  { opens }: { readonly opens: "from anywhere" | "from its own pages" },
): Outcome<void> {
  const sites = headerLines(request, "sec-fetch-site");
  if (sites.length === 0 || /^(same-origin|none)$/.test(sites.join())) return accept(undefined);
  if (opens === "from anywhere" && sites.length === 1 && isNavigation(request)) return accept(undefined);
  return refuseFact("foreign_page", { received: printableLiteral(sites.join(", ")) });
}

export function isNavigation(request: HttpRequest): boolean {
  const modes = headerLines(request, "sec-fetch-mode");
  const destinations = headerLines(request, "sec-fetch-dest");
  return request.method === "GET" && modes.join() === "navigate" && destinations.join() === "document";
}
