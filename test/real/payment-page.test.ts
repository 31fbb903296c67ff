import jsqr from "jsqr";
import { PNG } from "pngjs";
import type { Page, Route } from "playwright-core";
import { expect, test } from "vitest";
import { displayText, printable } from "../../src/core/text.ts";
import { axeFaults } from "../support/axe.ts";
import { part } from "../support/campaign.ts";
import { eventually } from "../support/eventually.ts";
import { PAGES_AREA } from "../../src/sandbox/pages/pages.ts";
import { HOSTILE_TEXTS } from "../support/hostile-texts.ts";
import { openShop, OTHER_HOST, type Customer, type Shop, type Sold } from "../support/shop.ts";

/** How a payment can go: what the customer does in the wallet, and what the order and its page say at the end. */
type Ending = {
  readonly name: string;
  readonly act: (page: Page, shop: Shop, sold: Sold) => Promise<unknown>;
  readonly status: string;
  readonly heading: string;
};

const ENDINGS: readonly Ending[] = [
  {
    name: "pays",
    act: (page) => press(page, "Pay €19.99"),
    status: "succeeded",
    heading: "Payment successful",
  },
  {
    name: "is declined, and pays then",
    act: async (page) => {
      await press(page, "Decline");
      await follow(page, "Back to the checkout page");
      expect(await page.textContent(".notice")).toContain("You can try again, up to 4 times");
      await start(page);
      await press(page, "Pay €19.99");
    },
    status: "succeeded",
    heading: "Payment successful",
  },
  {
    name: "is declined five times",
    act: async (page, shop, { id, checkout_url }) => {
      await press(page, "Decline");
      for (let attempt = 2; attempt < 5; attempt += 1)
        await shop.command("sandbox", "pay", id, "--outcome", "declined");
      await page.goto(checkout_url);
      await start(page);
      await press(page, "Decline");
    },
    status: "failed",
    heading: "Payment failed",
  },
  { name: "fails", act: (page) => press(page, "Fail"), status: "failed", heading: "Payment failed" },
  {
    name: "cancels in the wallet",
    act: (page) => press(page, "Cancel"),
    status: "cancelled",
    heading: "Payment cancelled",
  },
  {
    name: "cancels on the page",
    act: async (page) => {
      await page.goBack();
      await page.click("summary:has-text('Cancel payment')");
      await press(page, "Yes, cancel the payment");
    },
    status: "cancelled",
    heading: "Payment cancelled",
  },
  {
    name: "pays too late",
    act: async (page) => {
      await press(page, "Pay too late");
      expect(await page.textContent(".notice")).toContain("was not applied to the order");
    },
    status: "expired",
    heading: "This checkout has expired",
  },
  {
    name: "walks away",
    act: async (page, shop) => {
      await follow(page, "Walk away");
      expect(await page.textContent("h2")).toBe("You walked away");
      await shop.command("sandbox", "clock", "advance", "1h");
    },
    status: "expired",
    heading: "This checkout has expired",
  },
];

for (const javaScriptEnabled of [true, false]) {
  test(`every ending of a payment, with both methods, ${javaScriptEnabled ? "with" : "without"} JavaScript`, async () => {
    const shop = await openShop();
    const page = await shop.visit("about:blank", { javaScriptEnabled });
    const pay = async (method: string, { name, act, status, heading }: Ending): Promise<void> => {
      const sold = await shop.sell({ payment_method: method });
      await page.goto(sold.checkout_url);
      await start(page);
      await act(page, shop, sold);
      await page.goto(sold.checkout_url);
      const told = [method, name, await page.textContent("h1"), await shop.statusOf(sold)];
      expect(told).toEqual([method, name, heading, status]);
    };
    const methods = ["alipay_plus", "wechat_pay"];
    // The methods take turns, other ones without JavaScript: nothing of the pages depends on both.
    const methodsOf = (ending: Ending): readonly string[] =>
      part(methods, 2, ENDINGS.indexOf(ending) + (javaScriptEnabled ? 1 : 0));
    for (const ending of ENDINGS) for (const method of methodsOf(ending)) await pay(method, ending);
    expect(shop.complaints).toEqual([]);
  });
}

test("an open page of the real program follows what happens elsewhere, without a reload", async () => {
  const shop = await openShop([], "program");
  const sold = await shop.sell();
  const page = await shop.visit(sold.checkout_url);
  await page.evaluate("window.loadedOnce = document.querySelector('[role=status]').seenBefore = true");
  await page.click(".notes > summary");
  const before = await page.textContent("[role=timer]");
  await page.locator("[role=timer]", { hasNotText: before ?? "" }).waitFor();
  expect(await page.getAttribute(".notes", "open")).toBe("");
  const phone = await shop.visit(sold.checkout_url);
  await start(phone);
  await page.waitForSelector(".qr");
  await shop.command("sandbox", "pay", sold.id, "--outcome", "succeeded");
  await page.waitForSelector("h1:text('Payment successful')");
  await phone.waitForSelector("h2:text('Payment successful')");
  await eventually("the title follows", async () =>
    expect(await page.title()).toContain("Payment successful"),
  );
  expect(await page.evaluate("window.loadedOnce")).toBe(true);
  // A screen reader announces what changes inside an element that was there before.
  expect(await page.textContent("[role=status]")).toBe("Payment successful");
  expect(await page.evaluate("document.querySelector('[role=status]').seenBefore")).toBe(true);
  expect(shop.complaints).toEqual([]);
});

test("a page says that no answer comes, and gives way when its checkout is gone", async () => {
  const shop = await openShop(["--ephemeral"]);
  const sold = await shop.sell();
  const page = await shop.visit(sold.checkout_url);
  const silence = "document.querySelector('.no-answer').getAnimations()[0]";
  await page.evaluate(`${silence}.currentTime = 4000`);
  // Each answer starts the count anew.
  const seen = `[${silence}.currentTime < 3000, getComputedStyle(document.querySelector(".no-answer")).visibility]`;
  await eventually("an answer is there", async () =>
    expect(await page.evaluate(seen)).toEqual([true, "hidden"]),
  );
  const notice = page.locator(".no-answer");
  await page.route(sold.checkout_url, (route) => route.fulfill({ status: 403, json: { ok: false } }));
  await page.waitForResponse((response) => response.status() === 403);
  await page.unroute(sold.checkout_url);
  await shop.sandbox.stop("SIGTERM");
  await page.evaluate(`${silence}.currentTime = 5000`);
  await notice.waitFor({ state: "visible" });
  expect(await page.textContent("h1")).toBe("Pay Sandbox Store");
  await openShop(["--ephemeral", "--port", String(shop.sandbox.port)]);
  await page.waitForSelector("h1:text('This page does not exist')");
  expect(await page.textContent("[role=status]")).toBe("This page does not exist");
  expect(await page.locator("[hx-get], .no-answer").count()).toBe(0);
});

test("without script a page does not say that it updates by itself", async () => {
  const shop = await openShop();
  const sold = await shop.sell();
  const look = async (javaScriptEnabled: boolean): Promise<boolean[]> => {
    const page = await shop.visit(sold.checkout_url, { javaScriptEnabled });
    if ((await page.locator(".qr").count()) === 0) await page.click("button.primary");
    await page.waitForSelector(".qr");
    // What is visible is said by the style sheet.
    await page.waitForLoadState("load");
    const [waiting, again] = [page.locator(".waiting"), page.locator("a", { hasText: "Check again" })];
    return [await waiting.isVisible(), await again.isVisible()];
  };
  expect([await look(false), await look(true)]).toEqual([
    [false, true],
    [true, false],
  ]);
});

test("the time left runs down, and stands while the store's clock is frozen", async () => {
  const shop = await openShop(["--checkout-lifetime", "10m"]);
  const sold = await shop.sell();
  await shop.command("sandbox", "clock", "freeze");
  const page = await shop.visit(sold.checkout_url);
  expect(await page.textContent("main")).toContain("the store’s clock is frozen");
  await shop.command("sandbox", "clock", "advance", "4m");
  await page.waitForSelector("[role=timer]:text-matches('^0[56]:')");
  await shop.command("sandbox", "clock", "advance", "6m");
  await page.waitForSelector("h1:text('This checkout has expired')");
  expect(await shop.statusOf(sold)).toBe("expired");
});

test("double clicks, reloads, the back button and two tabs do nothing twice", async () => {
  const shop = await openShop();
  const sold = await shop.sell();
  const first = await shop.visit(sold.checkout_url);
  const second = await first.context().newPage();
  await second.goto(sold.checkout_url);
  const tabs = [first, second];
  // On a busy machine one tab would follow the other before it is clicked.
  const isFollowing = (route: Route): boolean => route.request().headers()["hx-request"] !== undefined;
  const stay = (route: Route): Promise<void> => (isFollowing(route) ? route.abort() : route.continue());
  await Promise.all(tabs.map((page) => page.route(sold.checkout_url, stay)));
  await Promise.all(tabs.map((page) => page.dblclick("button.primary")));
  await Promise.all(tabs.map((page) => page.waitForSelector(".qr")));
  await Promise.all(tabs.map((page) => page.unroute(sold.checkout_url)));
  await first.reload();
  await follow(first, "Open the sandbox wallet here");
  await follow(second, "Open the sandbox wallet here");
  await second.route(/\/wallet\//, stay);
  await press(first, "Decline");
  await first.goBack();
  // The second tab still shows the wallet of the attempt that was declined.
  await press(second, "Pay €19.99");
  await second.unroute(/\/wallet\//);
  expect(await second.textContent("h2")).toBe("Payment declined");
  expect(await shop.statusOf(sold)).toBe("pending");
  await second.goto(sold.checkout_url);
  await second.click(".notes > summary");
  expect(await second.textContent(".notes")).toContain("1: declined");
  expect(await second.textContent(".notes")).not.toContain("2:");
  await start(second);
  await second.dblclick("button.primary");
  await second.waitForSelector("h2:text('Payment successful')");
  await second.reload();
  await second.goBack();
  await first.goto(sold.checkout_url);
  expect(await first.textContent("h1")).toBe("Payment successful");
  expect(await shop.statusOf(sold)).toBe("succeeded");
});

test("the way back to the shop is a plain link with both ids and no status, and changes nothing", async () => {
  const shop = await openShop();
  const sold = await shop.sell({ order_id: "order ä&status=paid" });
  const page = await shop.visit(sold.checkout_url);
  expect(await page.locator("a[href^='http']").count()).toBe(0);
  const added = await shop.command("return-origins", "add", "http://localhost:3000");
  expect(added.code).toBe(0);
  const back = `http://localhost:3000/?order_id=order%20%C3%A4%26status%3Dpaid&session_id=${sold.id}`;
  const link = page.locator("a", { hasText: "Return to Sandbox Store without paying" });
  await link.waitFor();
  expect(await link.getAttribute("href")).toBe(back);
  await page.route("http://localhost:3000/**", (route) => route.fulfill({ body: "the shop" }));
  const [request] = await Promise.all([page.waitForRequest("http://localhost:3000/**"), link.click()]);
  expect([request.method(), request.headers()["referer"]]).toEqual(["GET", undefined]);
  expect(await shop.statusOf(sold)).toBe("created");
  await shop.command("sandbox", "pay", sold.id, "--outcome", "succeeded");
  await page.goto(sold.checkout_url);
  expect(await page.getAttribute("a.primary", "href")).toBe(back);
});

test("after a payment the customer goes back by themselves, unless they stay, come back or come later", async () => {
  const shop = await openShop();
  await shop.command("return-origins", "add", "http://localhost:3000", "--path", "/thanks");
  const pay = async (): Promise<Sold> => {
    const sold = await shop.sell();
    await shop.command("sandbox", "pay", sold.id, "--outcome", "succeeded");
    return sold;
  };
  const sold = await shop.sell();
  const page = await shop.visit(sold.checkout_url);
  await page
    .context()
    .route("http://localhost:3000/**", (route) =>
      route.fulfill({ contentType: "text/html", body: "<h1>the shop</h1>" }),
    );
  // The page that was open while another device paid.
  await shop.command("sandbox", "pay", sold.id, "--outcome", "succeeded");
  await page.waitForSelector("send-back [role=timer]");
  await page.waitForSelector("h1:text('the shop')");
  expect(page.url()).toBe(`http://localhost:3000/thanks?order_id=order-1&session_id=${sold.id}`);
  const { stdout: story } = await shop.command("explain", sold.id);
  expect(story).toMatch(
    /payment page opened[^]*browser returned to http:\/\/localhost:3000\/thanks \(proves/,
  );
  await page.goBack();
  await page.waitForSelector("h1:text('Payment successful')");
  expect(await page.locator("send-back").count()).toBe(0);
  const another = await pay();
  await page.goto(another.checkout_url);
  await follow(page, "Stay on this page");
  expect([page.url(), await page.locator("send-back").count()]).toEqual([`${another.checkout_url}?stay`, 0]);
  const without = await shop.visit(another.checkout_url, { javaScriptEnabled: false });
  expect(await without.locator("send-back").isVisible()).toBe(false);
  await shop.command("sandbox", "clock", "advance", "2m");
  await page.goto(another.checkout_url);
  expect(await page.locator("send-back").count()).toBe(0);
  expect(shop.complaints).toEqual([]);
});

test("a paid page has a date and a reference; a cancel is asked once", async () => {
  const shop = await openShop();
  const sold = await shop.sell();
  const page = await shop.visit(sold.checkout_url);
  expect(await page.locator("button", { hasText: "Yes, cancel" }).isVisible()).toBe(false);
  await page.click("summary:has-text('Cancel payment')");
  expect(await page.locator("button", { hasText: "Yes, cancel" }).isVisible()).toBe(true);
  expect(await shop.statusOf(sold)).toBe("created");
  await shop.command("sandbox", "pay", sold.id, "--outcome", "succeeded");
  await page.waitForSelector("h1:text('Payment successful')");
  expect(await page.getAttribute("time", "datetime")).toMatch(/^\d{4}-\d\d-\d\dT/);
  expect(await page.textContent("time")).toMatch(/ 20\d\d, \d\d:\d\d UTC$/);
  expect(await page.textContent("dl")).toContain(sold.id);
});

test("a phone gets the button of the wallet, and no code to scan with a phone", async () => {
  const shop = await openShop();
  const sold = await shop.sell();
  const look = async (customer: Customer): Promise<readonly [boolean, boolean, string]> => {
    const page = await shop.visit(sold.checkout_url, customer);
    if ((await page.locator(".qr").count()) === 0) await page.click("button.primary");
    const wallet = page.locator("a.primary", { hasText: "Open the sandbox wallet here" });
    const text = (await page.locator("main").innerText()).replaceAll(/\s+/g, " ");
    return [await page.locator(".qr").isVisible(), await wallet.isVisible(), text];
  };
  const [onDesk, deskWallet, deskText] = await look({});
  const phone = { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } };
  const [onPhone, phoneWallet, phoneText] = await look(phone);
  expect([onDesk, deskWallet, onPhone, phoneWallet]).toEqual([true, true, false, true]);
  expect(deskText).toContain("Scan with your Alipay+ wallet");
  expect(phoneText).not.toMatch(/scan/i);
  expect(phoneText).toContain("Pay with Alipay+ Open the sandbox wallet here");
});

test("the root of the sandbox is a page that says what it is, and its links lead somewhere", async () => {
  const shop = await openShop();
  const { checkout_origin: origin } = shop.sandbox.ready;
  const page = await shop.visit(`${origin}/`);
  expect(await page.textContent("h1")).toBe("checkout sandbox");
  expect(await page.textContent("main")).toContain(shop.sandbox.ready.base_url);
  const links = await page.locator("main a").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
  expect(links).not.toEqual([]);
  for (const link of links) {
    const { status } = await fetch(new URL(link ?? "", origin));
    expect([link, status]).toEqual([link, 200]);
  }
  expect(await page.textContent("main")).toContain("checkout open");
  expect((await fetch(`${origin}/`, { method: "HEAD" })).status).toBe(200);
  expect(shop.complaints).toEqual([]);
});

test("the QR code leads to the wallet of the open attempt, in both themes", async () => {
  const shop = await openShop();
  const sold = await shop.sell();
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await shop.visit(sold.checkout_url, { colorScheme });
    if ((await page.locator(".qr").count()) === 0) await page.click("button.primary");
    const picture = PNG.sync.read(await page.locator(".qr").screenshot());
    const code = jsqr.default(new Uint8ClampedArray(picture.data), picture.width, picture.height);
    expect(code?.data).toBe(`${sold.checkout_url}/wallet/1`);
    expect((await page.goto(code?.data ?? ""))?.status()).toBe(200);
    expect(await page.textContent("h1")).toContain("Alipay+ sandbox wallet");
  }
});

test("under another name that was allowed the page works, and the code leads there", async () => {
  const shop = await openShop(["--allow-host", OTHER_HOST]);
  const sold = await shop.sell();
  const page = await shop.visit(sold.checkout_url.replace("127.0.0.1", OTHER_HOST));
  await page.click("button.primary");
  const picture = PNG.sync.read(await page.locator(".qr").screenshot());
  const code = jsqr.default(new Uint8ClampedArray(picture.data), picture.width, picture.height);
  expect(code?.data).toBe(`${page.url()}/wallet/1`);
  expect(await shop.statusOf(sold)).toBe("pending");
});

/** What a browser asks for and gets. Each page is looked at in both languages, or in the one that the seed says. */
type Language = { readonly locale: string; readonly lang: string; readonly from: number };
const LANGUAGES: readonly Language[] = [
  { locale: "en-US", lang: "en", from: 0 },
  { locale: "zh-CN", lang: "zh-Hans", from: 1 },
];

const WIDE = { width: 1280, height: 720 };
/** Width in pixels and size of the text: that of the browser, or doubled by a customer who needs it. */
const SCREENS = [
  [320, "100%"],
  [390, "100%"],
  [768, "100%"],
  [1440, "100%"],
  [320, "200%"],
  [390, "200%"],
] as const;

test("axe finds nothing on any page, in any state, language and theme, and each fits from a narrow phone on, also with doubled text", async () => {
  const shop = await openShop();
  await shop.command("return-origins", "add", "https://shop.example");
  const pages = await pagesInEveryState(shop);
  const look = async ({ locale, lang, from }: Language): Promise<string[]> => {
    const found: string[] = [];
    const page = await shop.visit("about:blank", { locale });
    for (const [name, open] of part(Object.entries(pages), LANGUAGES.length, from)) {
      await open(page);
      await openNotes(page);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        const rules = colorScheme === "light" ? ALL_RULES : RULES_OF_COLOURS;
        const faults = [...(await axeFaults(page, rules)), ...(await page.evaluate<string[]>(MORE_FAULTS))];
        found.push(...faults.map((fault) => `${name}, ${locale}, ${colorScheme}: ${fault}`));
      }
      expect(await page.getAttribute("html", "lang")).toBe(lang);
      for (const [width, textSize] of SCREENS) {
        await page.setViewportSize({ width, height: 700 });
        const measured = await page.evaluate(
          `document.documentElement.style.fontSize = "${textSize}"; ${MEASURE}`,
        );
        expect([name, locale, width, textSize, measured]).toEqual([name, locale, width, textSize, FITS]);
      }
      await page.setViewportSize(WIDE);
    }
    return found;
  };
  const found = await Promise.all(LANGUAGES.map(look));
  expect(found.flat()).toEqual([]);
  // It would find something.
  const bad = await shop.visit("about:blank");
  await bad.setContent("<main><img src='data:,'><button></button></main>");
  expect((await axeFaults(bad)).length).toBeGreaterThan(1);
  await bad.setContent("<p>Pay</p><p style='color: #999; background: #888'>the price</p>");
  expect(await axeFaults(bad, RULES_OF_COLOURS)).toHaveLength(1);
});

test("hostile texts of a merchant change nothing but text", async () => {
  const shop = await openShop();
  expect(HOSTILE_TEXTS.length).toBeGreaterThanOrEqual(60);
  const page = await shop.visit((await shop.sell()).checkout_url);
  const plain = await skeleton(page);
  for (const text of part(HOSTILE_TEXTS, 4)) {
    const order = Array.from(text).slice(0, 32).join("");
    const sold = await shop.sell({ order_id: order, description: text });
    await page.goto(sold.checkout_url);
    const shown = await page.locator("bdi").allTextContents();
    expect([text, shown]).toEqual([text, [inMarkup(text), inMarkup(order)]]);
    expect([text, await skeleton(page)]).toEqual([text, plain]);
    const overflow = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth");
    expect([text, Math.max(0, Number(overflow))]).toEqual([text, 0]);
  }
  expect(shop.complaints).toEqual([]);
});

/** A line break is shown as a blank, and a family as one picture; all else as on a terminal, also invisible blanks. */
function inMarkup(text: string): string {
  const keepsJoiners = text.startsWith("😀");
  return keepsJoiners ? text : printable(displayText(text).replace(/\r\n|[\n\u2028\u2029]/g, " "));
}

/** Starts an attempt and opens its wallet. */
async function start(page: Page): Promise<void> {
  await page.click("button.primary");
  await follow(page, "Open the sandbox wallet here");
}

async function press(page: Page, label: string): Promise<void> {
  await page
    .locator("button", { hasText: new RegExp(`^\\s*${label.replace(/[.+]/g, "\\$&")}`) })
    .first()
    .click();
  await page.waitForLoadState();
}

async function follow(page: Page, label: string): Promise<void> {
  await page.locator("a", { hasText: label }).click();
  await page.waitForLoadState();
}

async function openNotes(page: Page): Promise<void> {
  const notes = page.locator(".notes > summary");
  if ((await notes.count()) > 0) await notes.click();
}

/** What takes the most room on a page. */
const WIDEST = { description: "W".repeat(128), amount_minor: Number.MAX_SAFE_INTEGER, currency: "CNY" };
const WIDEST_ORDER = "W".repeat(20);

/** The way to each page and state that there is; the store's clock stands. */
async function pagesInEveryState(shop: Shop): Promise<Record<string, (page: Page) => Promise<unknown>>> {
  const page = await shop.visit("about:blank");
  let number = 0;
  const open = async (act: (page: Page, sold: Sold) => Promise<unknown>, suffix = ""): Promise<string> => {
    number += 1;
    const orderId = WIDEST_ORDER + String(number).padStart(2, "0") + suffix;
    const sold = await shop.sell({
      payment_method: number % 2 ? "wechat_pay" : "alipay_plus",
      ...WIDEST,
      order_id: orderId,
    });
    await page.goto(sold.checkout_url);
    await act(page, sold);
    return sold.checkout_url;
  };
  const inWallet = (label: RegExp) => async () => {
    await start(page);
    await page.locator("button", { hasText: label }).first().click();
    await page.waitForLoadState();
  };
  const created = await open(async () => undefined);
  const pending = await open(async () => page.click("button.primary"));
  const declined = await open(inWallet(/^\s*Decline/));
  const succeeded = await open(inWallet(/^\s*Pay /));
  const failed = await open(inWallet(/^\s*Fail/));
  const cancelled = await open(inWallet(/^\s*Cancel/));
  const late = await open(inWallet(/^\s*Pay too late/));
  await shop.command("sandbox", "clock", "freeze");
  const settles = await open(async () => undefined, "~declined");
  await page.context().close();
  const { checkout_origin: origin } = shop.sandbox.ready;
  const addresses = {
    created,
    pending,
    declined,
    failed,
    cancelled,
    late,
    settles,
    wallet: `${pending}/wallet/1`,
    "wallet declined": `${declined}/wallet/1`,
    "wallet paid": `${succeeded}/wallet/1`,
    "wallet failed": `${failed}/wallet/1`,
    "wallet cancelled": `${cancelled}/wallet/1`,
    "wallet late": `${late}/wallet/1`,
    "walked away": `${pending}/wallet/1/closed`,
    "paid, stays": `${succeeded}?stay`,
    home: `${origin}/`,
    "not found": `${origin}/pay/nothing`,
    "wrong method": `${created}/start`,
  };
  const unseen = PAGES_AREA.routes
    .filter(({ role, methods }) => role === "payer" && methods.includes("GET"))
    .map(({ path }) => new RegExp(`${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`))
    .filter((pattern) => !Object.values(addresses).some((address) => pattern.test(address)));
  // A page that is not in this list is looked at by nobody.
  expect(unseen).toEqual([]);
  const ways = Object.entries(addresses).map(
    ([name, address]) => [name, (visitor: Page) => visitor.goto(address)] as const,
  );
  const withoutToken = async (visitor: Page): Promise<void> => {
    await visitor.goto(created);
    // At once: the next answer brings the token back.
    await visitor.evaluate(
      "document.querySelector('input[name=token]').value = ''; document.querySelector('button.primary').click()",
    );
    await visitor.waitForSelector("main:not([hx-get]) h1");
  };
  const sentBack = async (visitor: Page): Promise<void> => {
    // The page is looked at for longer than it stays.
    await visitor.addInitScript("window.setInterval = () => 0");
    await visitor.goto(succeeded);
  };
  return { ...Object.fromEntries(ways), succeeded: sentBack, "form refused": withoutToken };
}

/** What a page does not show of itself on a screen of one size, as an expression for the browser. */
const MEASURE = `({
  overflow: Math.max(0, document.documentElement.scrollWidth - window.innerWidth),
  brokenDigits: [...document.querySelectorAll(".digits")].flatMap((digits) => [...digits.childNodes]).filter((piece) => {
    const range = document.createRange();
    range.selectNodeContents(piece);
    return range.getClientRects().length > 1;
  }).map((piece) => piece.textContent),
})`;
const FITS = { overflow: 0, brokenDigits: [] };

/** What axe does not look for: more than one thing that is announced, and a mark that cannot be read. */
const MORE_FAULTS = `(() => {
  const faults = [];
  const announced = [...document.querySelectorAll("[role=status], [role=alert], [aria-live]:not([aria-live=off])")];
  const isLive = document.querySelector("main[hx-get]") !== null;
  if (isLive && announced.length !== 1) faults.push(announced.length + " live regions");
  if (announced.some((region) => region.querySelector("*") !== null || region.textContent.trim() === ""))
    faults.push("a live region holds more than words, or none");
  const lightness = (colour) => {
    const [red, green, blue] = colour.match(/[\\d.]+/g).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  for (const mark of document.querySelectorAll(".mark, .icon")) {
    const { color, backgroundColor } = getComputedStyle(mark);
    const [dark, light] = [lightness(color), lightness(backgroundColor)].sort((left, right) => left - right);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < 4.5) faults.push(mark.className + " has a contrast of " + contrast.toFixed(2));
  }
  return faults;
})()`;

/** The elements of a page and their attributes, without its texts, its addresses and its token. */
async function skeleton(page: Page): Promise<string> {
  return page.evaluate(`[...document.querySelectorAll("*")].map((one) => {
    const names = [...one.attributes].map(({ name }) => name).sort();
    return one.tagName + "[" + names.join(" ") + "]";
  }).join("\\n")`);
}

/** All rules of axe; at least this many have to find something that they can look at. */
const ALL_RULES = { atLeast: 5 };
/** A theme changes colours and nothing else. */
const RULES_OF_COLOURS = { rules: ["color-contrast"] };
