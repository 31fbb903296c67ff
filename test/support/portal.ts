import type { FullAnswer, Harness, RunningSandbox } from "./harness.ts";
import { askPortal, portalHost, postForm, signIn } from "./portal-sign-in.ts";

/** An answer of the portal, as a browser without JavaScript sees it. */
export type Page = {
  readonly status: number;
  readonly html: string;
  /** The text: the markup without its tags, with single spaces. */
  readonly text: string;
  /** The address of the redirect; undefined if there is none. */
  readonly location: string | undefined;
  readonly headers: FullAnswer["headers"];
};

/** A browser that is signed in to the portal, and runs no script. */
export type Portal = {
  /** Loads a page of the portal. */
  readonly get: (path: string) => Promise<Page>;
  /** Posts a form of the portal's own pages with this sign-in's token, and does not follow a redirect. */
  readonly post: (path: string, fields?: Readonly<Record<string, string>>) => Promise<Page>;
  /** Posts a form, and loads the page that follows; fails the test if there is none. */
  readonly act: (path: string, fields?: Readonly<Record<string, string>>) => Promise<Page>;
  /** The token in the forms of this sign-in. */
  readonly formToken: string;
  /** The Cookie header of this sign-in. */
  readonly cookie: string;
  /** The Host of the portal. */
  readonly host: string;
  /** The first store: `/portal/${storeId}`. */
  readonly home: string;
};

/** Signs a browser in to the portal of a sandbox of the harness, as the link of `checkout open` does. */
export async function signedIn(harness: Harness, sandbox: RunningSandbox): Promise<Portal> {
  const { cookie, formToken } = await signIn(harness, sandbox, "merchant");
  const host = portalHost(sandbox);
  const headers = { Authorization: "", Host: host, Cookie: cookie };
  const get = async (path: string): Promise<Page> => pageOf(await askPortal(sandbox, { path, headers }));
  const { location: first = "" } = await get("/portal");
  const home = first.replace(/\/start$/, "");
  const post: Portal["post"] = async (path, fields = {}) =>
    pageOf(await postForm(sandbox, path, { ...fields, token: formToken }, { Cookie: cookie }));
  const act: Portal["act"] = async (path, fields) => {
    const { location, status, text } = await post(path, fields);
    if (location === undefined) throw new Error(`the form was answered ${status}: ${text}`);
    // A browser does not send the fragment after the #.
    return get(location.replace(/#.*/, ""));
  };
  return { get, post, act, formToken, cookie, host, home };
}

function pageOf({ status, headers, body }: FullAnswer): Page {
  const html = String(body);
  return {
    status,
    html,
    text: textOf(html),
    location: headers["Location"],
    headers,
  };
}

/** The text of markup without tags, head, scripts and styles, with single spaces. */
export function textOf(html: string): string {
  const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };
  return html
    .replace(/<(head|script|style)\b.*?<\/\1>/gs, " ")
    .replace(/<[^>]*>/g, " ")
    .replace(/&(#?\w+);/g, (whole, name: string) => entities[name] ?? whole)
    .replace(/\s+/g, " ")
    .trim();
}
