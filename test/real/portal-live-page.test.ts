import type { Page, Request } from "playwright-core";
import { expect, test } from "vitest";
import { axeFaults } from "../support/axe.ts";
import { eventually } from "../support/eventually.ts";
import { openShop, type Shop } from "../support/shop.ts";
import { openSignedIn } from "../support/portal-browser.ts";

async function openPortal(by: "here" | "program" = "here") {
  const shop = await openShop([], by);
  const { page, home } = await openSignedIn(shop);
  return { shop, page, home };
}

async function untilLive(page: Page): Promise<void> {
  await page.waitForSelector("#live[data-state=live]");
}

/** Hides or shows the page, as a browser does when its tab is covered or shown again. */
async function setHidden(page: Page, hidden: boolean): Promise<void> {
  const property = `{ value: ${hidden}, configurable: true }`;
  await page.evaluate(
    `Object.defineProperty(document, "hidden", ${property}); document.dispatchEvent(new Event("visibilitychange"))`,
  );
}

async function payFor(shop: Shop, id: string): Promise<void> {
  expect((await shop.command("sandbox", "pay", id, "--outcome", "succeeded")).code).toBe(0);
}

test("a live list counts new rows without moving; p pays the checkout, and r replays its newest event", async () => {
  const { shop, page, home } = await openPortal();
  const first = await shop.sell();
  await page.goto(`${home}/checkouts`);
  await untilLive(page);
  const place = await page.locator("tr[data-row]").boundingBox();
  await shop.sell();
  await page.waitForSelector("#new-rows:has-text('1')");
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    const faults = await axeFaults(page, { rules: ["color-contrast"], within: "#new-rows" });
    expect([colorScheme, faults]).toEqual([colorScheme, []]);
  }
  await page.focus("#new-rows");
  const { id } = await shop.sell();
  await page.waitForSelector("#new-rows:has-text('2')");
  expect(await page.evaluate("document.activeElement.id")).toBe("new-rows");
  expect(await page.locator("tr[data-row]").boundingBox()).toEqual(place);
  // A changed row is updated in its place.
  await payFor(shop, first.id);
  await page.waitForSelector("tr[data-row] .badge.succeeded");
  expect(await page.evaluate("document.activeElement.id")).toBe("new-rows");
  expect(await page.locator("tr[data-row]").boundingBox()).toEqual(place);
  await page.click("#new-rows");
  await untilLive(page);
  expect(await page.locator("#new-rows").isVisible()).toBe(false);
  expect(await page.locator("tr[data-row]").count()).toBe(3);
  await page.goto(`${home}/checkouts?status=succeeded`);
  await untilLive(page);
  await shop.sell();
  await page.waitForSelector("#menu a[href$='/checkouts'] .count:has-text('3')");
  expect(await page.locator("#new-rows").isVisible()).toBe(false);
  await payFor(shop, id);
  await page.waitForSelector("#new-rows:has-text('1')");
  await page.goto(`${home}/checkouts?status=created`);
  await untilLive(page);
  const { id: newest } = await shop.sell();
  await page.waitForSelector("#new-rows:has-text('1')");
  await payFor(shop, newest);
  await page.locator("#new-rows").waitFor({ state: "hidden" });

  const last = await shop.sell();
  await page.goto(`${home}/checkouts/${last.id}`);
  await page.keyboard.press("p");
  await page.waitForSelector(".checkout-head .badge.succeeded");
  expect((await shop.command("endpoints", "add", "http://127.0.0.1:9/hooks")).code).toBe(0);
  await untilLive(page);
  // The first press only asks; the second press replays the event.
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

test("a page updates in place and keeps open details, the focus and typed text, even while the sandbox does not answer", async () => {
  const { shop, page, home } = await openPortal("program");
  const sold = await shop.sell();
  await page.setViewportSize({ width: 900, height: 300 });
  await page.goto(`${home}/checkouts/${sold.id}`);
  await untilLive(page);
  await page.locator("#page details > summary").last().click();
  await page.fill("#search", "half a sen");
  await page.evaluate("scrollTo(0, 120)");
  await shop.sell();
  await payFor(shop, sold.id);
  await page.waitForSelector(".checkout-head .badge.succeeded");
  // The announcement comes later, and at most once in ten seconds.
  await page.waitForSelector("#changes:not(:empty)", { state: "attached" });
  const kept = (): Promise<unknown> =>
    page.evaluate(`({
      isOpen: document.querySelector("#page details[open]") !== null,
      focus: document.activeElement.id,
      typed: document.querySelector("#search").value,
      scroll: scrollY,
    })`);
  const expected = { isOpen: true, focus: "search", typed: "half a sen", scroll: 120 };
  expect(await kept()).toEqual(expected);
  expect(shop.complaints).toEqual([]);
  await shop.sandbox.stop("SIGTERM");
  await page.locator(".ending[data-when=silent]").waitFor();
  expect(await page.locator(".checkout-head .badge.succeeded").isVisible()).toBe(true);
  expect(await kept()).toEqual(expected);
});

test("a visible page polls each second, and gets 304 if nothing changed; a hidden page does not poll, and catches up when shown", async () => {
  const { shop, page, home } = await openPortal();
  const sold = await shop.sell();
  await page.clock.install();
  await page.goto(`${home}/checkouts/${sold.id}`);
  await untilLive(page);
  const answers: number[] = [];
  let asked = 0;
  const isPoll = (request: Request): boolean => request.headers()["if-none-match"] !== undefined;
  page.on("request", (request) => void (asked += isPoll(request) ? 1 : 0));
  page.on("response", (response) => {
    if (isPoll(response.request())) answers.push(response.status());
  });
  const pass = async (seconds: number): Promise<void> => {
    for (let count = 0; count < seconds; count += 1) await page.clock.runFor(1000);
  };
  // The request of the sale is logged a moment later, and then the page shows it.
  await eventually("the page shows the whole story", async () => {
    await pass(1);
    expect(answers.at(-1)).toBe(304);
  });
  await eventually("the page asks", async () => {
    await pass(1);
    expect(answers.length).toBeGreaterThan(3);
  });
  expect(answers.slice(-2)).toEqual([304, 304]);
  await setHidden(page, true);
  await eventually("what it asked is answered", () => expect(answers.length).toBe(asked));
  answers.length = 0;
  await payFor(shop, sold.id);
  await pass(60);
  expect(answers).toEqual([]);
  await setHidden(page, false);
  await page.waitForSelector(".checkout-head .badge.succeeded");
  expect(answers).toEqual([200]);
  expect(shop.complaints).toEqual([]);
});

test("a tab says that its browser was signed out, and its icon has a dot while something fails", async () => {
  const { shop, page, home } = await openPortal();
  await page.goto(`${home}/webhooks`);
  await untilLive(page);
  const icon = (): Promise<string | null> => page.getAttribute("#icon", "href");
  expect(await icon()).toMatch(/\/icon\.svg\?v=/);
  await shop.command("endpoints", "add", "http://127.0.0.1:9/hooks");
  await shop.sell();
  await page.waitForSelector("#icon[href*='/icon-alarm.svg?v=']", { state: "attached" });
  await page.waitForSelector("#changes:has-text('1!')", { state: "attached" });
  await page.goto(`${home}/webhooks`);
  expect(await icon()).toMatch(/\/icon-alarm\.svg\?v=/);
  await untilLive(page);
  expect(await page.locator(".ending").filter({ visible: true }).count()).toBe(0);
  const other = await page.context().newPage();
  await other.goto(`${home}/keys`);
  await other.click("details.end > summary");
  await other.click("details.end .asked > summary");
  await other.click("details.end .asked button");
  await other.waitForURL(/\/sign-in$/);
  await page.locator(".ending[data-when=signed_out]").waitFor();
  await page.click(".ending[data-when=signed_out] a");
  await page.waitForSelector("#sign-in");
});
