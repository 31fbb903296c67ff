export type CookieJar = ReturnType<typeof createCookieJar>;

const MAX_COOKIES = 50;

/**
 * A cookie belongs to a host name, and is sent to all its ports. Ignores paths and expiry dates, because a
 * drill visits few pages within minutes. `Max-Age=0` or an empty value deletes a cookie.
 */
export function createCookieJar() {
  const byHost = new Map<string, Map<string, string>>();
  return {
    headerFor: (url: string, givenCookie?: string): Readonly<Record<string, string>> => {
      const pairs = [...(byHost.get(new URL(url).hostname) ?? [])].map(([name, value]) => `${name}=${value}`);
      const cookiesToSend = givenCookie === undefined ? pairs : [givenCookie, ...pairs];
      return cookiesToSend.length === 0 ? {} : { Cookie: cookiesToSend.join("; ") };
    },
    /** `lines`: the answer's `Set-Cookie` lines, separated by line breaks. */
    keep: (url: string, lines: string | undefined): void => {
      if (lines === undefined) return;
      const { hostname } = new URL(url);
      const cookies = byHost.get(hostname) ?? new Map<string, string>();
      byHost.set(hostname, cookies);
      for (const line of lines.split("\n")) keepLine(cookies, line);
    },
  };
}

function keepLine(cookies: Map<string, string>, line: string): void {
  const [, name = "", value = "", attributes = ""] = /^\s*([^\s=;]+)\s*=\s*([^;]*)(.*)$/.exec(line) ?? [];
  if (name === "") return;
  if (value === "" || /;\s*max-age\s*=\s*(0|-\d+)\s*(;|$)/i.test(attributes)) cookies.delete(name);
  else if (cookies.size < MAX_COOKIES || cookies.has(name)) cookies.set(name, value.trim());
}
