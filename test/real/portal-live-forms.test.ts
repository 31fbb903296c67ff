import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { openHttpReceiver } from "../support/http-receiver.ts";
import { openShop, type Shop } from "../support/shop.ts";
import { openSignedIn } from "../support/portal-browser.ts";

/** Pages whose forms are updated in place, as many as a browser can follow at once. */
const PAGES = ["/launch", "/webhooks", "/catalog", "/stores"] as const;

/** Changes the content of each of these pages, as another user would. */
async function change({ command, sell }: Shop): Promise<void> {
  const lines = [
    ["endpoints", "add", "http://localhost:9/hooks"],
    [
      "prices",
      "add",
      "another",
      "--amount-minor",
      "1",
      "--currency",
      "EUR",
      "--payment-method",
      "alipay_plus",
    ],
    ["return-origins", "add", "http://localhost:3000"],
    ["faults", "add", "status", "--path", "/nowhere"],
    ["stores", "create", "--name", "Another"],
    ["snapshots", "create", "another"],
    ["checklist", "run", "webhooks"],
  ];
  await Promise.all(lines.map((line) => command(...line)));
  await sell();
}

/** Opens all details, fills in each field, and leaves the focus in the last text field. */
const FILL_IN = `(() => {
  const page = document.querySelector("#page");
  for (const details of page.querySelectorAll("details")) details.open = true;
  const fields = [...page.querySelectorAll("form input:not([type=hidden], [type=checkbox]), form textarea")];
  fields.forEach((field, at) => {
    field.value = "half " + at;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  for (const box of page.querySelectorAll("form input[type=checkbox]")) box.click();
  for (const select of page.querySelectorAll("form select")) select.selectedIndex = select.length - 1;
  fields.at(-1)?.focus();
})()`;

/** The state of half-filled forms: the fields with their values, the open questions, and the focus. */
const READ_FORM_STATE = `(() => {
  const page = document.querySelector("#page");
  const named = (field) => {
    const form = field.closest("form");
    const hidden = [...form.querySelectorAll("input[type=hidden]:not([name=token])")].map(({ value }) => value);
    return [form.getAttribute("action"), ...hidden, field.name].join(" ");
  };
  const all = [...page.querySelectorAll("form :is(input:not([type=hidden]), select, textarea)")];
  return {
    fields: all.map((field) => [named(field), field.type === "checkbox" ? field.checked : (field.selectedIndex ?? field.value)]),
    asked: [...page.querySelectorAll("details.asked[open]")].map((one) => one.querySelector("form").action),
    focus: document.activeElement === null ? null : document.activeElement.name,
  };
})()`;

type FormState = {
  readonly fields: readonly (readonly [string, string | number | boolean])[];
  readonly asked: readonly string[];
  readonly focus: string | null;
};

const formState = (page: Page): Promise<FormState> => page.evaluate(READ_FORM_STATE);

/** The number of forms and rows after a reload and on the page; they are equal once all changes have arrived. */
const COUNT_FORMS_AND_ROWS = `(async () => {
  const answer = await fetch(location.href);
  const loaded = new DOMParser().parseFromString(await answer.text(), "text/html");
  const shown = (within) => [...within.querySelectorAll("#page :is(form, tr, li, summary)")].length;
  return [shown(loaded), shown(document)];
})()`;

test("a live page shows changes without losing the focus, typed text or an open confirmation", async () => {
  const shop = await openShop();
  const { page, home } = await openSignedIn(shop);
  await page.goto(`${home}/connect`);
  await page.waitForSelector("#live[data-state=live]");
  await page.focus("#menu a[href$='/checkouts']");
  await shop.sell();
  await page.waitForSelector("#menu a[href$='/checkouts'] .count:has-text('1')");
  await shop.sell();
  await page.waitForSelector("#menu a[href$='/checkouts'] .count:has-text('2')");
  expect(await page.evaluate("document.activeElement.getAttribute('href')")).toMatch(/\/checkouts$/);
  await shop.command("sandbox", "clock", "freeze");
  await page.waitForSelector("#clock .frozen");
  const clock = await page.textContent("#clock time");
  expect(clock).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
  await page.goto(`${home}/checkouts`);
  await page.waitForSelector("#live[data-state=live]");
  const shownRows = (): Promise<unknown> =>
    page.evaluate("[...document.querySelectorAll('tr[data-row]')].map(({ id }) => id)");
  const rows = await shownRows();
  await page.focus("#menu a[href$='/checkouts']");
  await shop.command("sandbox", "clock", "real");
  await page.waitForSelector("#clock:not(:has(.frozen))");
  expect(await page.isVisible("#new-rows")).toBe(false);
  const { id } = await shop.sell();
  await page.waitForSelector("#menu a[href$='/checkouts'] .count:has-text('3')");
  await shop.command("sandbox", "pay", id, "--outcome", "succeeded");
  await page.waitForSelector("#menu a[href$='/checkouts'] .count:has-text('2')");
  expect(await page.evaluate("document.activeElement.getAttribute('href')")).toMatch(/\/checkouts$/);
  expect(await shownRows()).toEqual(rows);
  expect(await page.textContent("#new-rows")).toMatch(/^1\b/);

  const receiver = await openHttpReceiver((_request, response) => void response.writeHead(204).end());
  await shop.command("endpoints", "add", receiver);
  await shop.sell();
  const seen = [];
  for (const [at, path] of PAGES.entries()) {
    const tab = at === 0 ? page : await page.context().newPage();
    await tab.goto(`${home}${path}`);
    await tab.waitForSelector("#live[data-state=live]");
    // A field with the name `id` would replace the `id` property of its form.
    expect(await tab.evaluate('[...document.forms].filter(({ id }) => typeof id !== "string").length')).toBe(
      0,
    );
    await tab.evaluate(FILL_IN);
    seen.push({ path, tab, before: await formState(tab) });
  }
  await change(shop);
  for (const { path, tab, before } of seen) {
    await eventually(`${path} is current`, async () => {
      const [loaded, shown] = await tab.evaluate<[number, number]>(COUNT_FORMS_AND_ROWS);
      expect(shown).toBe(loaded);
    });
    const after = await formState(tab);
    const left = new Map(after.fields);
    const lost = before.fields.filter(([name, value]) => left.get(name) !== value);
    const closed = before.asked.filter((asked) => !after.asked.includes(asked));
    expect.soft([path, lost, closed, after.focus]).toEqual([path, [], [], before.focus]);
  }
  expect(shop.complaints).toEqual([]);
});
