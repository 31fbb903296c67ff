import type { Locator, Page, Response } from "playwright-core";
import { CLICKABLE, DeadEnd, LEADS_ON, type Hand, type HandCount } from "./portal-hand.ts";

/** Timeout of a page, long enough for a busy machine. */
const PAGE_TIMEOUT_MS = 15_000;

/** A hand on a page, which counts its actions. */
export function handOn(page: Page, count: HandCount): Hand {
  watch(page, count);
  const wait = async (target: Locator, wanted: string): Promise<Locator> => {
    try {
      await target.waitFor({ state: "visible", timeout: PAGE_TIMEOUT_MS });
    } catch {
      throw new DeadEnd(`no ${wanted} on ${placeOf(page.url())}`);
    }
    return target;
  };
  const find = (text: string | RegExp, within: string): Promise<Locator> => {
    const whole = typeof text === "string" ? new RegExp(`^\\s*${escaped(text)}\\s*$`) : text;
    const all = page.locator(within).locator(CLICKABLE).filter({ hasText: whole, visible: true });
    return wait(all.first(), String(text));
  };
  const press = async (target: Locator): Promise<void> => {
    count.clicks += 1;
    if ((await target.and(page.locator(LEADS_ON)).count()) === 0) return target.click();
    try {
      await Promise.all([page.waitForEvent("load", { timeout: PAGE_TIMEOUT_MS }), target.click()]);
    } catch {
      throw new DeadEnd(`a click led nowhere on ${placeOf(page.url())}`);
    }
  };
  const click: Hand["click"] = async (text, within = "body") => press(await find(text, within));
  const sees: Hand["sees"] = async (text) =>
    void (await wait(page.getByText(text).filter({ visible: true }).first(), `text ${String(text)}`));
  const fill = async (field: Locator, text: string): Promise<void> => {
    if ((await field.and(page.locator(":focus")).count()) === 0) {
      count.clicks += 1;
      await field.click();
    }
    await field.fill(text);
  };
  return {
    click,
    row: async (text) => {
      const links = page
        .locator("main tbody tr")
        .filter({ hasText: text })
        .locator("a")
        .filter({ visible: true });
      await press(await wait(links.first(), `row with ${String(text)}`));
    },
    menu: async (entry) => press(await wait(page.locator("nav.menu a").filter({ hasText: entry }), entry)),
    type: async (name, text, within = "main") => {
      const field = page.locator(`${within} input[name="${name}"]:not([type=hidden])`);
      await fill(await wait(field.filter({ visible: true }).first(), `field ${name}`), text);
    },
    search: async (text) => {
      await fill(page.locator("#search"), text);
      count.clicks += 1;
      await Promise.all([page.waitForEvent("load"), page.keyboard.press("Enter")]);
    },
    sees,
    misses: async (text) => {
      if ((await page.getByText(text).filter({ visible: true }).count()) > 0)
        count.deadEnds.push(`there is still ${text} on ${placeOf(page.url())}`);
    },
    isRefused: async (button, field) => {
      const before = page.url().replace(/[?#].*/, "");
      count.refusals += 1;
      await click(button, `main form:has([name="${field}"])`);
      await wait(page.locator(`#refused-${field}`), `sentence at ${field}`);
      if (!page.url().startsWith(before))
        count.deadEnds.push(`the refused form of ${placeOf(before)} is on ${placeOf(page.url())}`);
      // The browser moves the focus to the field when it draws the loaded page.
      await wait(page.locator(`[name="${field}"]:focus`), `focus in the refused ${field}`);
    },
    openTab: async (text) => {
      const link = await find(text, "body");
      count.clicks += 1;
      const [tab] = await Promise.all([page.waitForEvent("popup"), link.click()]);
      await tab.waitForLoadState();
      return handOn(tab, count);
    },
    close: () => page.close(),
  };
}

/** Records each page with an error status, except forms that are refused in place. */
function watch(page: Page, count: HandCount): void {
  const allowed = { before: count.refusals };
  page.on("response", (response: Response) => {
    const request = response.request();
    if (!request.isNavigationRequest() || request.frame() !== page.mainFrame()) return;
    const isForm =
      response.status() === 400 && request.method() === "POST" && count.refusals > allowed.before;
    if (isForm) allowed.before += 1;
    else if (response.status() >= 400)
      count.deadEnds.push(`${response.status()} at ${request.method()} ${placeOf(request.url())}`);
  });
}

/** The path of a portal address below its store. */
function placeOf(address: string): string {
  return new URL(address).pathname.replace(/^\/portal\/k-[^/]+\/[^/]+/, "");
}

function escaped(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&");
}
