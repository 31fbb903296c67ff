import type { Page } from "playwright-core";
import { onTestFinished } from "vitest";
import type { StoreRole } from "../../../src/core/store/shapes.ts";
import { english } from "../../../src/core/language.ts";
import { PAYMENT_TEXTS } from "../../../src/sandbox/pages/payment/texts.ts";
import { refusalText } from "../refusal-texts.ts";
import { signInAdministrator } from "../portal-browser.ts";
import { sharedBrowser } from "../shop.ts";
import { agree } from "./agree.ts";
import type { Form } from "./form.ts";
import { openSite, type Site } from "./site.ts";

/** The links of the portal to follow: all links, or the links of its menu. */
type Links = "every" | "menu";

/** Timeout of a page on a busy machine. */
const PAGE_TIMEOUT_MS = 60_000;

/**
 * Signs a Chromium in to the portal of a new sandbox, pays an order as its customer, and follows links of the portal,
 * each once. Returns the answers with an error status, the errors of scripts, and the number of pages.
 */
export async function walkInBrowser(
  form: Form,
  links: Links,
): Promise<{ readonly pages: number; readonly wrong: readonly string[] }> {
  const site = await openSite(form);
  const { checkout_url: checkout } = await fill(site);
  const { page, wrong } = await openBrowser();
  await page.goto((await site.type("open --print")).stdout.trim());
  await page.waitForURL(/\/connect$/);
  await pay(page, checkout ?? "");
  await signInAdministrator(page.context(), site);
  const pages = await follow(page, `${site.ready.portal_url ?? ""}/${site.ready.store_id}/overview`, {
    links,
  });
  await site.stop();
  return { pages, wrong };
}

/**
 * Follows the links of the portal, except downloads, in a Chromium that a sign-in link for a store and role has signed
 * in. `wrong`: the answers with an error status, the errors of scripts, the shown secrets, and the forms that the role
 * may not send.
 */
export async function walkAsRole(
  form: Form,
  role: StoreRole,
): Promise<{ readonly pages: number; readonly wrong: readonly string[]; readonly forms: number }> {
  const site = await openSite(form);
  await fill(site);
  const {
    store_id: store,
    control_token: controlToken,
    api_key: apiKey,
    signing_secret: secret,
  } = site.ready;
  const secrets = [controlToken, site.adminToken(), ...(role === "viewer" ? [apiKey, secret] : [])];
  const { page, wrong } = await openBrowser();
  await page.goto((await site.type(`open --print --store ${store} --role ${role}`)).stdout.trim());
  await page.waitForURL(/\/(connect|overview|start)$/);
  const forms = new Set<string>();
  const pages = await follow(page, `${site.ready.portal_url ?? ""}/${store}/overview`, {
    links: "every",
    look: async () => {
      const markup = await page.content();
      const shown = secrets.filter((one) => one !== null && one !== undefined && markup.includes(one));
      wrong.push(...shown.map(() => `a secret at ${page.url()}`));
      // A field named `action` hides the property of that name.
      const actions = await page
        .locator("form[method=post]")
        .evaluateAll((all) =>
          all.map((one) =>
            (one as unknown as { getAttribute: (name: string) => string }).getAttribute("action"),
          ),
        );
      for (const action of actions) forms.add(new URL(action, page.url()).pathname);
    },
  });
  // An empty form may be refused for its fields, but not for the role. A page of the portal sends it with the session's
  // cookie.
  for (const path of forms) {
    const refused = await page.evaluate(async (to) => {
      const answer = await fetch(to, { method: "POST", body: new URLSearchParams() });
      return { status: answer.status, text: await answer.text() };
    }, path);
    if (refusalText("role_too_low").test(refused.text)) wrong.push(`the form ${path} is refused`);
  }
  await site.stop();
  const own = [...forms].filter((path) => !/\/(preferences|sign-out)$/.test(path));
  return { pages, wrong: wrong.filter((one) => !/^403 at .*$/.test(one)), forms: own.length };
}

async function fill(site: Site): Promise<Readonly<Record<string, string>>> {
  await site.ask(`endpoints add ${site.receiver}/hooks`);
  await site.ask("return-origins add https://shop.example");
  await site.ask("snapshots create one");
  await site.ask("faults add drop --times 1");
  const { data } = await site.ask<{ readonly data: Readonly<Record<string, string>> }>(
    "orders create --order-id in-a-browser --price-id price_coffee",
  );
  return data;
}

async function pay(page: Page, checkout: string): Promise<void> {
  await page.goto(checkout);
  const { payWith, openWallet, confirm, result } = PAYMENT_TEXTS;
  await page.getByRole("button", { name: english(payWith.alipay_plus) }).click();
  await page.getByRole("link", { name: english(openWallet) }).click();
  await page.getByRole("button", { name: `${english(confirm)} €` }).click();
  await page.getByRole("heading", { name: english(result.succeeded) }).waitFor();
}

/** A page in a new profile, and its errors. */
async function openBrowser(): Promise<{ readonly page: Page; readonly wrong: string[] }> {
  const context = await (await sharedBrowser()).newContext({ locale: "en-US", reducedMotion: "reduce" });
  onTestFinished(() => context.close());
  context.setDefaultTimeout(PAGE_TIMEOUT_MS);
  const wrong: string[] = [];
  context.on("response", (answer) => {
    if (answer.status() >= 400) wrong.push(`${answer.status()} at ${new URL(answer.url()).pathname}`);
  });
  context.on("weberror", (thrown) => wrong.push(thrown.error().message));
  return { page: await context.newPage(), wrong };
}

/**
 * Opens a page and its links, except downloads, and unless only the menu is followed, the links of all opened pages.
 * Returns the number of pages.
 */
async function follow(
  page: Page,
  first: string,
  { links, look }: { readonly links: Links; readonly look?: () => Promise<void> },
): Promise<number> {
  const known = new Set([first]);
  for (const address of known) {
    const answer = await page.goto(address);
    agree(`in the browser ${address}`, answer?.status(), 200);
    await look?.();
    if (links === "menu" && address !== first) continue;
    const selector = links === "menu" ? "nav.menu a[href]" : "a[href]:not([download])";
    const found = await page
      .locator(selector)
      .evaluateAll((elements) => elements.map((element) => (element as unknown as { href: string }).href));
    for (const href of found) {
      const to = new URL(href);
      to.hash = "";
      if (to.href.startsWith(new URL(first).origin)) known.add(to.href);
    }
  }
  return known.size;
}
