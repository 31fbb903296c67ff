import type { Answered, Harness, RunningSandbox } from "./harness.ts";

/** The secret that signs a browser in: the merchant's code, or the administrator's token. */
type PortalRole = "merchant" | "administrator";

/** A browser that is signed in, as the requests of any program can be. */
type PortalCookie = { readonly cookie: string; readonly formToken: string };

const HOMES: Readonly<Record<PortalRole, string>> = { merchant: "/portal", administrator: "/portal/admin" };

/** Where the portal of a sandbox answers: `localhost:4242`. */
export function portalHost({ ready }: Pick<RunningSandbox, "ready">): string {
  return new URL(ready.portal_url ?? "http://none").host;
}

/** The path that the portal of a sandbox is below: `/portal/k-…`. */
export function portalPathOf({ ready }: Pick<RunningSandbox, "ready">): string {
  return new URL(ready.portal_url ?? "http://none/portal").pathname;
}

/** The address on the wire of a page that a test names as the program does, without the key of the portal. */
export function onWire(sandbox: Pick<RunningSandbox, "ready">, path: string): string {
  const own = portalPathOf(sandbox);
  return path.startsWith(own) ? path : path.replace(/^\/portal/, own);
}

/** Asks the portal as a browser does, by an address as the program names it; so are those in the answer. */
export async function askPortal(
  sandbox: RunningSandbox,
  { path, ...call }: Parameters<RunningSandbox["request"]>[0],
): Promise<Answered> {
  const { headers, body, ...answer } = await sandbox.request({ ...call, path: onWire(sandbox, path) });
  const named = (text: string): string => text.replaceAll(portalPathOf(sandbox), "/portal");
  const told = Object.entries(headers).map(([name, value]) => [name, named(value)]);
  return {
    ...answer,
    headers: Object.fromEntries(told) as Answered["headers"],
    body: typeof body === "string" ? named(body) : body,
  };
}

/** The code of a link to the portal. */
export function codeOf(link: string | null): string {
  return new URL(link ?? "http://none").hash.replace("#t=", "");
}

/** A new link to the portal, as `checkout open --print` shows it. */
export async function newLink(harness: Harness): Promise<string> {
  return (await harness.run(["open", "--print"])).stdout.trim();
}

/** Posts a form of the portal's own page, with no session unless its cookie is among the headers. */
export function postForm(
  sandbox: RunningSandbox,
  path: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answered> {
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

/** Loads a page of the portal like a browser after its address was typed. */
export function load(
  sandbox: RunningSandbox,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answered> {
  const typed = { "Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document" };
  const all = { Authorization: "", Host: portalHost(sandbox), ...typed, ...headers };
  return askPortal(sandbox, { path, headers: all });
}

/** The name and value of the cookie that an answer sets. */
export function cookieIn({ headers }: Answered): string {
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
  // Any page has the frame, even a missing page. Without the number of the page: each form is meant.
  const { body } = await load(sandbox, `${HOMES[role]}/no/such/page`, { Cookie: cookie });
  return { cookie, formToken: /name="token" value="([^".]+)/.exec(String(body))?.[1] ?? "" };
}
