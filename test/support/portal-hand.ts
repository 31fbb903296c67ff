import type { Locator, Page, Response } from "playwright-core";

/** How long a page may take until a person would give up, on a busy machine. */
const PATIENCE_MS = 15_000;

/** What a person can click on a page. */
const CLICKABLE = "a, button, summary, input[type=checkbox]";

/** A person with a mouse and a keyboard in front of the portal: everything is done by clicking and typing. */
export type Hand = {
  readonly page: Page;
  /** Clicks the first thing in sight that has this text, and waits for the page that a link or a button leads to. */
  readonly click: (text: string | RegExp, within?: string) => Promise<void>;
  /** Clicks the link at the head of the first row that has this text. */
  readonly row: (text: string | RegExp) => Promise<void>;
  /** Clicks an entry of the store's menu. */
  readonly menu: (entry: string) => Promise<void>;
  /** Types into the field of this name: clicks it first unless it has the focus. */
  readonly type: (name: string, text: string, within?: string) => Promise<void>;
  /** Types into the search field of the bar, and presses Enter, which counts as a click. */
  readonly search: (text: string) => Promise<void>;
  /** Waits until a text is in sight. */
  readonly sees: (text: string | RegExp) => Promise<void>;
  /** Notes a dead end where a text is in sight that must not be. */
  readonly misses: (text: string) => Promise<void>;
  /** Clicks the button of a form that is refused in place: the same page with 400, and the sentence at its field. */
  readonly isRefused: (button: string, field: string) => Promise<void>;
  /** Clicks a link that opens a tab of its own; returns the hand in that tab, whose clicks count here. */
  readonly openTab: (text: string | RegExp) => Promise<Hand>;
};

/** What a hand has done so far. */
export type HandCount = {
  clicks: number;
  /** How many forms were refused in place. */
  refusals: number;
  /** Pages that had no way forward, and answers that no page expects. */
  readonly deadEnds: string[];
};

/** Thrown where a page has no way forward: the task ends there. */
class DeadEnd extends Error {}

/** A hand on a page, which counts. */
export function handOn(page: Page, count: HandCount): Hand {
  watch(page, count);
  const wait = async (target: Locator, wanted: string): Promise<Locator> => {
    try {
      await target.waitFor({ state: "visible", timeout: PATIENCE_MS });
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
      await Promise.all([page.waitForEvent("load", { timeout: PATIENCE_MS }), target.click()]);
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
    page,
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
      const [now, focused] = await page.evaluate<[string, string | null]>(
        "[location.href.replace(/[?#].*/, ''), document.activeElement?.getAttribute('name') ?? null]",
      );
      if (!now.startsWith(before))
        count.deadEnds.push(`the refused form of ${placeOf(before)} is on ${placeOf(now)}`);
      if (focused !== field) count.deadEnds.push(`the focus is in ${focused}, and ${field} was refused`);
    },
    openTab: async (text) => {
      const link = await find(text, "body");
      count.clicks += 1;
      const [tab] = await Promise.all([page.waitForEvent("popup"), link.click()]);
      await tab.waitForLoadState();
      return handOn(tab, count);
    },
  };
}

/** What leads to another page: no summary, no box, and no link within the page. */
const LEADS_ON = "a[href]:not([href^='#']), button:not([type=button])";

/** A task ends at the first dead end: it is noted, and no other error is. */
export async function untilDeadEnd(count: HandCount, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof DeadEnd)) throw error;
    count.deadEnds.push(error.message);
  }
}

/** Notes each page that is answered with an error, unless it is a form that was refused in its place. */
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

/** An address of the portal below its store. */
function placeOf(address: string): string {
  return new URL(address).pathname.replace(/^\/portal\/k-[^/]+\/[^/]+/, "");
}

function escaped(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&");
}
