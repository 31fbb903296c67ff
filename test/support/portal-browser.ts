import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import type { ReadyMessage } from "../../src/host/ready.ts";
import type { Customer, Shop } from "./shop.ts";

/** A sandbox, as described by its ready line. */
type Sandbox = { readonly ready: ReadyMessage };

/**
 * Signs a new browser profile in to the portal of a shop's sandbox; its page is empty. test/real/portal-frame.test.ts
 * tests that the link itself signs a browser in.
 */
export async function openSignedIn(
  { sandbox, visit }: Pick<Shop, "sandbox" | "visit">,
  customer?: Customer,
): Promise<{ readonly page: Page; readonly home: string }> {
  const page = await visit("about:blank", customer);
  await signInMerchant(page.context(), sandbox);
  return { page, home: `${sandbox.ready.portal_url ?? ""}/${sandbox.ready.store_id}` };
}

/** Signs a browser profile in to the portal, with the code of a new sign-in link. */
export async function signInMerchant(profile: BrowserContext, { ready }: Sandbox): Promise<void> {
  const { base_url, control_token: token } = ready;
  const answer = await fetch(`${new URL(base_url).origin}/__sandbox/portal/sign-ins`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: "{}",
  });
  const { data } = (await answer.json()) as { readonly data: { readonly sign_in_url: string } };
  await keepCookie(profile, `${ready.portal_url ?? ""}/sign-in`, { code: data.sign_in_url });
}

/** Signs a browser profile in to the portal as the administrator too. */
export async function signInAdministrator(profile: BrowserContext, { ready }: Sandbox): Promise<void> {
  const admin = JSON.parse(readFileSync(join(ready.data_dir ?? "", "admin.json"), "utf8")) as {
    readonly admin_token: string;
  };
  await keepCookie(profile, `${ready.portal_url ?? ""}/admin/sign-in`, { ...admin });
}

/** Sends a sign-in form without a browser, and puts the cookie of the answer into the profile. */
async function keepCookie(
  profile: BrowserContext,
  address: string,
  fields: Readonly<Record<string, string>>,
): Promise<void> {
  const { origin, hostname } = new URL(address);
  const { status, headers } = await fetch(address, {
    method: "POST",
    redirect: "manual",
    headers: { "Sec-Fetch-Site": "same-origin", Origin: origin },
    body: new URLSearchParams(fields),
  });
  const [, name = "", value = "", path = ""] =
    /^([^=]+)=([^;]+); Path=([^;]+); HttpOnly; SameSite=Strict$/.exec(headers.get("set-cookie") ?? "") ?? [];
  if (name === "") throw new Error(`signing in was answered ${status}, without the cookie of a session`);
  await profile.addCookies([{ name, value, path, domain: hostname, httpOnly: true, sameSite: "Strict" }]);
}
