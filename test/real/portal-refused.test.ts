import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { EXPLAIN_SENTENCES } from "../../src/core/explain/sentences.ts";
import { english } from "../../src/core/language.ts";
import { COMMON_TEXTS } from "../../src/sandbox/pages/portal/texts.ts";
import { axeFaults } from "../support/axe.ts";
import { part } from "../support/campaign.ts";
import { eventually } from "../support/eventually.ts";
import { openSignedIn } from "../support/portal-browser.ts";
import { openShop } from "../support/shop.ts";

type WrongForm = {
  readonly path: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly field: string;
  /** A selector for the form, if several forms of the page have the field. */
  readonly form?: string;
};

/** Refused forms: the page, the typed values, and the wrong field. */
const FORMS: readonly WrongForm[] = [
  { path: "/clock", fields: { by: "soon" }, field: "by" },
  { path: "/settings", fields: { origin: "shop.example" }, field: "origin" },
  {
    path: "/catalog",
    fields: { price_id: "oolong", amount_minor: "7.5", currency: "EUR" },
    field: "amount_minor",
  },
  { path: "/faults?action=status", fields: { status: "x" }, field: "status" },
  { path: "/webhooks", fields: { url: "localhost:3000/hooks" }, field: "url" },
  { path: "/stores", fields: { name: "Default" }, field: "name", form: "[action$='/stores']" },
  { path: "/stores", fields: { name: "../x" }, field: "name", form: "[action$='/snapshots/all']" },
  { path: "/stores", fields: { name: "x" }, field: "name", form: "[action$='/stores/reset']" },
  {
    path: "/launch",
    fields: { reason: "x".repeat(1100) },
    field: "reason",
    form: ":has([value=idempotency])",
  },
  { path: "/launch", fields: { note: "x".repeat(1100) }, field: "note" },
];

/** Types the values into the form that has the field, and presses its button. */
async function send(page: Page, { fields, field, form: which = "" }: WrongForm): Promise<void> {
  const form = page.locator(`main form${which}:has(input[name="${field}"]:not([type=hidden]))`);
  const question = form.locator("xpath=ancestor::details[not(@open)]/summary");
  if ((await question.count()) > 0) await question.click();
  for (const [name, value] of Object.entries(fields))
    await form.locator(`input[name="${name}"]:not([type=hidden])`).fill(value);
  await Promise.all([page.waitForEvent("load"), form.locator("button[type=submit]").click()]);
}

/** Waits until the wrong field has the focus, which a browser moves when it paints the loaded page. */
function expectFocus(page: Page, { path, field }: WrongForm): Promise<void> {
  return eventually(`${path} has the focus in ${field}`, async () =>
    expect(await page.locator(`input[name="${field}"]:focus`).count()).toBe(1),
  );
}

/** The faults that axe finds in the page's own content, and a line if the page is too wide. */
async function faultsOf(page: Page): Promise<readonly string[]> {
  const excess = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
  const found = await axeFaults(page, { within: "main" });
  return excess > 0 ? [...found, `${excess} px too wide`] : found;
}

/** Selects the button of the form with a hidden field. */
function formButton(name: string, value: string): string {
  return `main form:has(input[type=hidden][name="${name}"][value="${value}"]) button`;
}

test("a refused form puts the focus on the field with the mistake, also on a phone and without JavaScript", async () => {
  const shop = await openShop();
  const { page, home } = await openSignedIn(shop, { viewport: { width: 390, height: 800 } });
  for (const one of part(FORMS, 2)) {
    const { path, field } = one;
    await page.goto(`${home}${path}`);
    await send(page, one);
    await expectFocus(page, one);
    expect([path, await page.locator(`#refused-${field}`).isVisible()]).toEqual([path, true]);
    expect([path, await faultsOf(page)]).toEqual([path, []]);
  }
  await page.goto(`${home}/find?q=nothing-has-this`);
  expect(await faultsOf(page)).toEqual([]);
  const { id } = await shop.sell({ description: "an oolong" });
  await page.goto(`${home}/checkouts/${id}`);
  await Promise.all([page.waitForEvent("load"), page.click(formButton("outcome", "declined"))]);
  const said = await page.locator(".said [role=status]").innerText();
  expect(said).toContain(`: ${english(COMMON_TEXTS.statuses.pending)} `);
  expect(said).toContain(english(EXPLAIN_SENTENCES.last.declined(4)));
  expect(await faultsOf(page)).toEqual([]);
  await page.goto(`${home}/clock`);
  await Promise.all([page.waitForEvent("load"), page.click(formButton("by", "6h"))]);
  expect(await page.locator(".move a[href*='status=expired']").innerText()).toMatch(/^1\b/);
  expect(await faultsOf(page)).toEqual([]);
  // The same session without scripts. The markup of every form: test/portal/refused-forms.test.ts.
  const plain = await shop.visit("about:blank", { javaScriptEnabled: false });
  await plain.context().addCookies(await page.context().cookies());
  for (const one of part(FORMS, 4)) {
    await plain.goto(`${home}${one.path}`);
    await send(plain, one);
    await expectFocus(plain, one);
  }
});
