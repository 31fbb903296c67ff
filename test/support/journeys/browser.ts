import type { Page } from "playwright-core";
import { onTestFinished } from "vitest";
import { administratorSignedIn } from "../portal-browser.ts";
import { sharedBrowser } from "../shop.ts";
import { agree } from "./agree.ts";
import type { Form } from "./form.ts";
import { openSite, type Site } from "./site.ts";

/** Which links of the portal are walked: all, or those of its menu. */
type Links = "every" | "menu";

/** How long a page may take on a busy machine. */
const PATIENCE_MS = 60_000;

/**
 * Signs a Chromium in to the portal of a new sandbox, pays an order as its customer, and follows links of the portal,
 * each once. Returns the answers that a page did not expect, the errors of scripts, and the number of pages.
 */
export async function walkInBrowser(
  form: Form,
  links: Links,
): Promise<{ readonly pages: number; readonly wrong: readonly string[] }> {
  const site = await openSite(form);
  const { checkout_url: checkout } = await fill(site);
  const context = await (await sharedBrowser()).newContext({ locale: "en-US", reducedMotion: "reduce" });
  onTestFinished(() => context.close());
  context.setDefaultTimeout(PATIENCE_MS);
  const wrong: string[] = [];
  context.on("response", (answer) => {
    if (answer.status() >= 400) wrong.push(`${answer.status()} at ${new URL(answer.url()).pathname}`);
  });
  context.on("weberror", (thrown) => wrong.push(thrown.error().message));
  const page = await context.newPage();
  await page.goto((await site.type("open --print")).stdout.trim());
  await page.waitForURL(/\/connect$/);
  await pay(page, checkout ?? "");
  await administratorSignedIn(context, site);
  const pages = await follow(page, `${site.ready.portal_url ?? ""}/${site.ready.store_id}/overview`, links);
  await site.stop();
  return { pages, wrong };
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
  await page.getByRole("button", { name: /^Pay with/ }).click();
  await page.getByRole("link", { name: "Open the sandbox wallet here" }).click();
  await page.getByRole("button", { name: /^Pay €/ }).click();
  await page.getByRole("heading", { name: "Payment successful" }).waitFor();
}

/** Opens the links from a page on, each address once; returns how many pages it has opened. */
async function follow(page: Page, first: string, links: Links): Promise<number> {
  const known = new Set([first]);
  for (const address of known) {
    const answer = await page.goto(address);
    agree(`in the browser ${address}`, answer?.status(), 200);
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
