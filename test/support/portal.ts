import type { Answered, Harness, RunningSandbox } from "./harness.ts";

/** An answer of the portal, as a browser without JavaScript has it. */
export type Page = {
  readonly status: number;
  readonly html: string;
  /** What a person reads: the markup without its tags, and with single spaces. */
  readonly text: string;
  /** Where the browser is sent on to; undefined where it is not. */
  readonly location: string | undefined;
  readonly headers: Answered["headers"];
};

/** A browser that is signed in to the portal, and runs no script. */
export type Portal = {
  /** Loads a page of the portal. */
  readonly get: (path: string) => Promise<Page>;
  /** Posts a form of the portal's own pages with this sign-in's token, and does not follow what it is sent on to. */
  readonly post: (path: string, fields?: Readonly<Record<string, string>>) => Promise<Page>;
  /** Posts a form, and loads the page that follows it; fails the test where none does. */
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
  const { control_token: token } = JSON.parse(harness.readState("run.json")) as {
    readonly control_token: string;
  };
  const issued = await sandbox.request({
    path: "/__sandbox/portal/sign-ins",
    headers: { Authorization: `Bearer ${token}` },
    body: "{}",
  });
  const { data } = JSON.parse(String(issued.body)) as { readonly data: { readonly sign_in_url: string } };
  const { host, hash } = new URL(data.sign_in_url);
  const code = new URLSearchParams(hash.slice(1)).get("t") ?? "";
  const entered = await sandbox.request({
    path: "/portal/sign-in",
    headers: { ...FORM, Host: host },
    body: new URLSearchParams({ code }).toString(),
  });
  const cookie = (entered.headers["Set-Cookie"] ?? "").split(";")[0] ?? "";
  const get = async (path: string): Promise<Page> =>
    pageOf(await sandbox.request({ path, headers: { Authorization: "", Host: host, Cookie: cookie } }));
  const { location: first = "" } = await get("/portal");
  const home = first.replace(/\/start$/, "");
  const { html } = await get(`${home}/clock`);
  // Without the number of the page: each form is meant, also one that is sent again.
  const [, formToken = ""] = /name="token" value="([^".]+)/.exec(html) ?? [];
  const post: Portal["post"] = async (path, fields = {}) =>
    pageOf(
      await sandbox.request({
        path,
        headers: { ...FORM, Host: host, Cookie: cookie },
        body: new URLSearchParams({ ...fields, token: formToken }).toString(),
      }),
    );
  const act: Portal["act"] = async (path, fields) => {
    const { location, status, text } = await post(path, fields);
    if (location === undefined) throw new Error(`the form was answered ${status}: ${text}`);
    return get(location);
  };
  return { get, post, act, formToken, cookie, host, home };
}

const FORM = {
  Authorization: "",
  "Content-Type": "application/x-www-form-urlencoded",
  "Sec-Fetch-Site": "same-origin",
};

function pageOf({ status, headers, body }: Answered): Page {
  const html = String(body);
  return {
    status,
    html,
    text: textOf(html),
    location: headers["Location"],
    headers,
  };
}

/** What a person reads in markup: its text without tags, with single spaces. */
export function textOf(html: string): string {
  const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };
  return html
    .replace(/<(head|script|style)\b.*?<\/\1>/gs, " ")
    .replace(/<[^>]*>/g, " ")
    .replace(/&(#?\w+);/g, (whole, name: string) => entities[name] ?? whole)
    .replace(/\s+/g, " ")
    .trim();
}
