import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { signedInBrowser } from "../support/portal-browser.ts";
import { openShop } from "../support/shop.ts";

/** A form that is refused: its page, what is typed, and the button that sends it. */
const FORMS = [
  { path: "/clock", fields: { by: "soon" }, field: "by" },
  { path: "/settings", fields: { origin: "shop.example" }, field: "origin" },
  {
    path: "/catalog",
    fields: { price_id: "oolong", amount_minor: "7.5", currency: "EUR" },
    field: "amount_minor",
  },
  { path: "/faults?action=status", fields: { status: "x" }, field: "status" },
  { path: "/webhooks", fields: { url: "localhost:3000/hooks" }, field: "url" },
] as const;

/** The form that has a field, with what was typed, is sent by its own button. */
async function send(page: Page, fields: Readonly<Record<string, string>>, field: string): Promise<void> {
  for (const [name, value] of Object.entries(fields))
    await page.locator(`main input[name="${name}"]:not([type=hidden])`).fill(value);
  const form = page.locator(`main form:has(input[name="${field}"]:not([type=hidden]))`);
  await Promise.all([page.waitForEvent("load"), form.locator("button[type=submit]").click()]);
}

/** What axe finds on a page, and whether it is wider than its window. */
async function faultsOf(page: Page): Promise<readonly string[]> {
  const excess = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
  await page.evaluate(axe.source);
  const found = await page.evaluate<string[]>(
    "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0]?.html))",
  );
  return excess > 0 ? [...found, `${excess} px too wide`] : found;
}

test("a refused form has the focus in the field that is wrong, on a phone too, and without JavaScript", async () => {
  const shop = await openShop();
  const { page, home } = await signedInBrowser(shop, { viewport: { width: 390, height: 800 } });
  for (const { path, fields, field } of FORMS) {
    await page.goto(`${home}${path}`);
    await page.evaluate("document.querySelectorAll('main details').forEach((one) => (one.open = true))");
    await send(page, fields, field);
    expect([path, await page.evaluate("document.activeElement?.getAttribute('name')")]).toEqual([
      path,
      field,
    ]);
    expect([path, await page.locator(`#refused-${field}`).isVisible()]).toEqual([path, true]);
    expect([path, await faultsOf(page)]).toEqual([path, []]);
  }
  await page.goto(`${home}/find?q=nothing-has-this`);
  expect(await faultsOf(page)).toEqual([]);
  const { id } = await shop.sell({ description: "an oolong" });
  await page.goto(`${home}/checkouts/${id}`);
  await Promise.all([page.waitForEvent("load"), page.getByRole("button", { name: "Decline" }).click()]);
  expect(await page.locator(".said [role=status]").innerText()).toMatch(
    /^Done at .*: pending · declined, 4 attempts left$/,
  );
  expect(await faultsOf(page)).toEqual([]);
  await page.goto(`${home}/clock`);
  await Promise.all([page.waitForEvent("load"), page.getByRole("button", { name: "+6h" }).click()]);
  expect(await page.locator(".move").innerText()).toMatch(/1 expired/);
  expect(await faultsOf(page)).toEqual([]);
  // The same sign-in in a browser that runs no script.
  const plain = await shop.visit("about:blank", { javaScriptEnabled: false });
  await plain.context().addCookies(await page.context().cookies());
  for (const { path, fields, field } of FORMS) {
    await plain.goto(`${home}${path}`);
    await send(plain, fields, field);
    expect([path, await plain.locator(`input[name="${field}"]:focus`).count()]).toEqual([path, 1]);
  }
});
