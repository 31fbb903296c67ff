import type { FullAnswer, Harness, RunningSandbox } from "./harness.ts";

/** The role of a browser: the merchant signs in with a code, the administrator with a token. */
type PortalRole = "merchant" | "administrator";

/** The cookie and the form token of a signed-in browser, which any program can send. */
type PortalCookie = { readonly cookie: string; readonly formToken: string };

const HOMES: Readonly<Record<PortalRole, string>> = { merchant: "/portal", administrator: "/portal/admin" };

/** The host and port of a sandbox's portal, such as `localhost:4242`. */
export function portalHost({ ready }: Pick<RunningSandbox, "ready">): string {
  return new URL(ready.portal_url ?? "http://none").host;
}

/** The path above all pages of a sandbox's portal: `/portal/k-…`. */
export function portalPathOf({ ready }: Pick<RunningSandbox, "ready">): string {
  return new URL(ready.portal_url ?? "http://none/portal").pathname;
}

/** The path of a page as a browser requests it, with the secret part of the portal's path, which tests omit. */
export function wirePath(sandbox: Pick<RunningSandbox, "ready">, path: string): string {
  const own = portalPathOf(sandbox);
  return path.startsWith(own) ? path : path.replace(/^\/portal/, own);
}

/** Requests a page by a path without the secret part of the portal's path, which is also removed from the answer. */
export async function askPortal(
  sandbox: RunningSandbox,
  { path, ...call }: Parameters<RunningSandbox["request"]>[0],
): Promise<FullAnswer> {
  const { headers, body, ...answer } = await sandbox.request({ ...call, path: wirePath(sandbox, path) });
  const named = (text: string): string => text.replaceAll(portalPathOf(sandbox), "/portal");
  const told = Object.entries(headers).map(([name, value]) => [name, named(value)]);
  return {
    ...answer,
    headers: Object.fromEntries(told) as FullAnswer["headers"],
    body: typeof body === "string" ? named(body) : body,
  };
}

export function codeOf(link: string | null): string {
  return new URL(link ?? "http://none").hash.replace("#t=", "");
}

/** A new link to the portal, as `checkout open --print` prints it. */
export async function newLink(harness: Harness): Promise<string> {
  return (await harness.run(["open", "--print"])).stdout.trim();
}

/** Posts a form of the portal's own page, without a session unless `headers` has its cookie. */
export function postForm(
  sandbox: RunningSandbox,
  path: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<FullAnswer> {
  return askPortal(sandbox, {
    path,
    headers: {
      Authorization: "",
      Host: portalHost(sandbox),
      "Content-Type": "application/x-www-form-urlencoded",
      "Sec-Fetch-Site": "same-origin",
      ...headers,
    },
    body: new URLSearchParams(fields).toString(),
  });
}

/** Loads a page of the portal, as a browser does after a person has typed its address. */
export function load(
  sandbox: RunningSandbox,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<FullAnswer> {
  const typed = { "Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document" };
  const all = { Authorization: "", Host: portalHost(sandbox), ...typed, ...headers };
  return askPortal(sandbox, { path, headers: all });
}

/** The name and value of the cookie that an answer sets. */
export function cookieIn({ headers }: FullAnswer): string {
  return (headers["Set-Cookie"] ?? "").split(";")[0] ?? "";
}

/** Signs a browser in, and reads the token of its forms. */
export async function signIn(
  harness: Harness,
  sandbox: RunningSandbox,
  role: PortalRole,
): Promise<PortalCookie> {
  const secret =
    role === "merchant" ? { code: codeOf(await newLink(harness)) } : { admin_token: harness.adminToken() };
  const cookie = cookieIn(await postForm(sandbox, `${HOMES[role]}/sign-in`, secret));
  // Any page has the frame, even a missing page. Without the page's number the token is valid for each form.
  const { body } = await load(sandbox, `${HOMES[role]}/no/such/page`, { Cookie: cookie });
  return { cookie, formToken: /name="token" value="([^".]+)/.exec(String(body))?.[1] ?? "" };
}
