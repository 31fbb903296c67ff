import type { Page, Request } from "playwright-core";
import { expect, test } from "vitest";
import type { LiveTopic, View } from "../../src/sandbox/pages/portal/view.ts";
import { liveAttributes, liveMark, liveScripts } from "../../src/sandbox/pages/portal/live/parts.ts";
import { HTMX_SCRIPT } from "../../src/sandbox/pages/shared/assets.ts";
import { wholePage } from "../../src/sandbox/pages/shared/layout.ts";
import { html, trustMarkup } from "../../src/web/html.ts";
import { axeFaults } from "../support/axe.ts";
import { eventually } from "../support/eventually.ts";
import { openShop, type Shop } from "../support/shop.ts";
import { signedInBrowser } from "../support/portal-browser.ts";

/** A page of the test's own, which follows a topic of the real sandbox from when it is loaded. */
type Shown = { readonly live: LiveTopic; readonly main: () => string };

async function openPortal(by: "here" | "program" = "here") {
  const shop = await openShop([], by);
  const { page, home } = await signedInBrowser(shop);
  return { shop, page, home };
}

/** As of the real pages. */
const POLICY = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'",
};

/** Shows a page under an address of the portal. */
async function show(page: Page, address: string, { live, main }: Shown): Promise<Page> {
  const { pathname } = new URL(address);
  await page.route(address, (route) => {
    const [, , key = "", storeId = ""] = pathname.split("/");
    const view = {
      call: { path: pathname.replace(`/${key}`, ""), query: "" },
      storeId,
      language: "en",
      shownOnce: undefined,
      position: { epoch: 0, changes: 0, written: 0 },
    } as unknown as View;
    const markup = wholePage({
      title: "Test",
      meta: html``,
      styles: [],
      scripts: [HTMX_SCRIPT, ...liveScripts(live)],
      body: html`<body>
        <header class="bar">${liveMark({ live }, view)}</header>
        <main id="page" ${liveAttributes({ live }, view)}>${trustMarkup(main())}</main>
      </body>`,
    });
    const body = String(markup("en"))
      .replace(/&(amp;)?since=0-0/, "")
      .replaceAll('"/portal/', `"/portal/${key}/`);
    return route.fulfill({ contentType: "text/html", headers: POLICY, body });
  });
  await page.goto(address);
  return page;
}

const isStream = (request: Request): boolean => new URL(request.url()).pathname.endsWith("/live");

async function isLive(page: Page): Promise<void> {
  await page.waitForSelector("#live[data-state=live]");
}

const hide = (hidden: boolean): string =>
  `Object.defineProperty(document, "hidden", { value: ${hidden}, configurable: true })`;

/** What a browser does with a tab that is covered or shown again. */
async function setHidden(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate(`${hide(hidden)}; document.dispatchEvent(new Event("visibilitychange"))`);
}

async function payFor(shop: Shop, id: string): Promise<void> {
  expect((await shop.command("sandbox", "pay", id, "--outcome", "succeeded")).code).toBe(0);
}

test("a list says how many of its rows are new, and does not move; p pays the checkout of its page, and r delivers its newest event again", async () => {
  const { shop, page, home } = await openPortal();
  const first = await shop.sell();
  await page.goto(`${home}/checkouts`);
  await isLive(page);
  const place = await page.locator("tr[data-row]").boundingBox();
  await shop.sell();
  await page.waitForSelector("#new-rows:has-text('1 new')");
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    const faults = await axeFaults(page, { rules: ["color-contrast"], within: "#new-rows" });
    expect([colorScheme, faults]).toEqual([colorScheme, []]);
  }
  await page.focus("#new-rows");
  const { id } = await shop.sell();
  await page.waitForSelector("#new-rows:has-text('2 new')");
  expect(await page.evaluate("document.activeElement.textContent")).toBe("2 new");
  expect(await page.locator("tr[data-row]").boundingBox()).toEqual(place);
  // A row that changes is shown anew where it stands.
  await payFor(shop, first.id);
  await page.waitForSelector("tr[data-row] .badge.succeeded");
  expect(await page.evaluate("document.activeElement.textContent")).toBe("2 new");
  expect(await page.locator("tr[data-row]").boundingBox()).toEqual(place);
  await page.click("#new-rows");
  await isLive(page);
  expect(await page.locator("#new-rows").isVisible()).toBe(false);
  expect(await page.locator("tr[data-row]").count()).toBe(3);
  // What its filter hides is not counted, nor what has left it.
  await page.goto(`${home}/checkouts?status=succeeded`);
  await isLive(page);
  await shop.sell();
  await page.waitForSelector("#menu a[href$='/checkouts'] .count:has-text('3')");
  expect(await page.locator("#new-rows").isVisible()).toBe(false);
  await payFor(shop, id);
  await page.waitForSelector("#new-rows:has-text('1 new')");
  await page.goto(`${home}/checkouts?status=created`);
  await isLive(page);
  const { id: newest } = await shop.sell();
  await page.waitForSelector("#new-rows:has-text('1 new')");
  await payFor(shop, newest);
  await page.locator("#new-rows").waitFor({ state: "hidden" });

  const last = await shop.sell();
  await page.goto(`${home}/checkouts/${last.id}`);
  await page.keyboard.press("p");
  await page.waitForSelector(".checkout-head .badge.succeeded");
  expect((await shop.command("endpoints", "add", "http://127.0.0.1:9/hooks")).code).toBe(0);
  await isLive(page);
  // The first press shows what the second one does.
  await page.keyboard.press("r");
  await page.keyboard.press("r");
  type Listed = { readonly deliveries: readonly { readonly cause: string; readonly type: string }[] };
  await eventually("the event is delivered", async () => {
    const { deliveries } = JSON.parse((await shop.command("deliveries", "list", "--json")).stdout) as Listed;
    const causes = deliveries.map(({ cause, type }) => [cause, type]);
    expect(causes).toEqual([["replay", "order.succeeded"]]);
  });
  expect(shop.complaints).toEqual([]);
});

test("a page is shown anew in place: what is open, focused and typed stays, until the sandbox stops", async () => {
  const { shop, page, home } = await openPortal("program");
  const sold = await shop.sell();
  let loads = 0;
  const main = (): string => {
    loads += 1;
    const filler = "<p>line</p>".repeat(200);
    return `<p id="loads">${loads}</p><details><summary>Bytes</summary><p>more</p></details>${filler}<input name="note">`;
  };
  await show(page, `${home}/test-page`, { live: { kind: "checkout", id: sold.id }, main });
  await isLive(page);
  await page.click("summary");
  await page.fill("input", "half a sen");
  const scroll = await page.evaluate("scrollY");
  expect(scroll).toBeGreaterThan(0);
  await shop.sell();
  await payFor(shop, sold.id);
  await page.waitForSelector("#loads:not(:text-is('1'))");
  // What is heard comes later, says what is otherwise now, and comes once for all that happens in ten seconds.
  await page.waitForSelector("#changes:text-matches('^\\\\d+ changes?$')", { state: "attached" });
  const kept = await page.evaluate(`({
    isOpen: document.querySelector("details").open,
    focus: document.activeElement.getAttribute("name"),
    typed: document.querySelector("input").value,
    scroll: scrollY,
  })`);
  expect(kept).toEqual({ isOpen: true, focus: "note", typed: "half a sen", scroll });
  await shop.sandbox.stop("SIGTERM");
  await page.waitForSelector("text=the sandbox has stopped");
  expect(await page.locator("#loads").isVisible()).toBe(true);
  expect(shop.complaints).toEqual([]);
});

test("a tab that nobody sees holds no connection, and catches up when it is seen; eight windows leave one for a ninth page", async () => {
  const { shop, page, home } = await openPortal();
  const [open, opened] = [new Set<Request>(), [] as Request[]];
  page.on("request", (request) => isStream(request) && open.add(request) && opened.push(request));
  page.on("requestfailed", (request) => open.delete(request));
  page.on("requestfinished", (request) => open.delete(request));
  await show(page, `${home}/test-list`, { live: { kind: "checkouts" }, main: () => "" });
  await isLive(page);
  expect(open.size).toBe(1);
  await setHidden(page, true);
  await eventually("the stream is closed", () => expect(open.size).toBe(0));
  await shop.sell();
  await setHidden(page, false);
  await eventually("the stream is open again", () => expect(open.size).toBe(1));
  await page.addInitScript(hide(true));
  await page.reload();
  expect(await page.evaluate("window.htmx !== undefined")).toBe(true);
  opened.length = 0;
  await setHidden(page, true);
  expect(opened).toEqual([]);
  await setHidden(page, false);
  await isLive(page);
  expect(opened).toHaveLength(1);

  // Eight windows side by side, and a ninth page loads.
  await page.goto("about:blank");
  const pages: Page[] = [];
  while (pages.length < 8) pages.push(await page.context().newPage());
  for (const one of pages) {
    await show(one, `${home}/test-page`, { live: { kind: "store" }, main: () => "" });
    await isLive(one);
  }
  const states = await Promise.all(pages.map((one) => one.getAttribute("#live", "data-state")));
  expect(states).toEqual([...Array<string>(4).fill("crowded"), ...Array<string>(4).fill("live")]);
  const answer = await page.goto(`${home}/clock`);
  expect(answer?.status()).toBe(200);
  expect(shop.complaints).toEqual([]);
});

test("a tab says over its page that its browser was signed out, and its icon has a dot while something fails", async () => {
  const { shop, page, home } = await openPortal();
  await page.goto(`${home}/webhooks`);
  await isLive(page);
  const icon = (): Promise<string | null> => page.getAttribute("#icon", "href");
  expect(await icon()).toMatch(/\/icon\.svg\?v=/);
  await shop.command("endpoints", "add", "http://127.0.0.1:9/hooks");
  await shop.sell();
  await page.waitForSelector("#icon[href*='/icon-alarm.svg?v=']", { state: "attached" });
  await page.waitForSelector("#changes:has-text('1! failing')", { state: "attached" });
  await page.goto(`${home}/webhooks`);
  expect(await icon()).toMatch(/\/icon-alarm\.svg\?v=/);
  await isLive(page);
  expect(await page.locator(".ending").filter({ visible: true }).count()).toBe(0);
  const other = await page.context().newPage();
  await other.goto(`${home}/keys`);
  await other.click("details.end > summary");
  await other.click("details.end .asked > summary");
  await other.click("details.end .asked button");
  await other.waitForURL(/\/sign-in$/);
  await page.locator(".ending[data-ending=signed_out]").waitFor();
  expect(await page.locator(".ending[data-ending=signed_out]").innerText()).toContain(
    "This browser was signed out",
  );
  await page.click(".ending[data-ending=signed_out] a");
  await page.waitForSelector("#sign-in");
});
