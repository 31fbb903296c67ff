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

function refused(why: string): Outcome<never> {
  return refuse("invalid_parameter", why);
}
