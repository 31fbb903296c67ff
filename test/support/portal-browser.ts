import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import type { Customer, Shop } from "./shop.ts";

/** Signs a new browser profile in to the portal of a shop's sandbox, by the link that signs one browser in. */
export async function signedInBrowser(
  { sandbox, visit }: Shop,
  customer?: Customer,
): Promise<{ readonly page: Page; readonly home: string }> {
  const { base_url, control_token: token } = sandbox.ready;
  const answer = await fetch(`${new URL(base_url).origin}/__sandbox/portal/sign-ins`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: "{}",
  });
  const { data } = (await answer.json()) as { readonly data: { readonly sign_in_url: string } };
  const page = await visit(data.sign_in_url, customer);
  await page.waitForURL(/\/(connect|overview)$/);
  return { page, home: page.url().replace(/\/(connect|overview)$/, "") };
}

/** Signs a browser that shows a page of the portal in as the administrator too. */
export async function administratorSignedIn(page: Page, { sandbox }: Pick<Shop, "sandbox">): Promise<void> {
  await page.goto(`${sandbox.ready.portal_url ?? ""}/admin/sign-in`);
  const admin = JSON.parse(readFileSync(join(sandbox.ready.data_dir ?? "", "admin.json"), "utf8")) as {
    readonly admin_token: string;
  };
  await page.locator("main input:not([type=hidden])").first().fill(admin.admin_token);
  await page.locator("main form").first().locator("button[type=submit]").click();
  await page.waitForURL(/\/portal\/k-[^/]+\/admin(?!\/sign-in)/);
}
