import jsqr from "jsqr";
import { PNG } from "pngjs";
import type { Locator, Page, Route } from "playwright-core";
import { expect, test } from "vitest";
import { displayText, printable } from "../../src/core/text.ts";
import { axeFaults } from "../support/axe.ts";
import { part } from "../support/campaign.ts";
import { eventually } from "../support/eventually.ts";
import { PAGES_AREA } from "../../src/sandbox/pages/payment/routes.ts";
import { HOSTILE_TEXTS } from "../support/hostile-texts.ts";
import { lookSetter, type Look } from "../support/looks.ts";
import { openShop, OTHER_HOST, type Customer, type Shop, type SoldCheckout } from "../support/shop.ts";
import { english } from "../../src/core/language.ts";
import { EXPLAIN_SENTENCES } from "../../src/core/explain/sentences.ts";
import { PAYMENT_TEXTS } from "../../src/sandbox/pages/payment/texts.ts";
import type { WALLET_OUTCOMES } from "../../src/sandbox/pages/payment/wallet-page.ts";
import { SHARED_TEXTS } from "../../src/sandbox/pages/shared/texts.ts";

/** A payment: the customer's action in the wallet, and the final status of the order and its page. */
type Ending = {
  readonly name: string;
  readonly act: (page: Page, shop: Shop, sold: SoldCheckout) => Promise<unknown>;
  readonly status: keyof typeof PAYMENT_TEXTS.result;
};

const ENDINGS: readonly Ending[] = [
  {
    name: "pays",
    act: async (page) => {
      expect(await outcomeButton(page, "succeeded").textContent()).toContain("€19.99");
      await choose(page, "succeeded");
    },
    status: "succeeded",
  },
  {
    name: "is declined, then pays",
    act: async (page) => {
      await choose(page, "declined");
      await follow(page, "a.primary");
      expect(await page.textContent(".notice")).toBe(english(PAYMENT_TEXTS.declined(4)));
      await start(page);
      await choose(page, "succeeded");
    },
    status: "succeeded",
  },
  {
    name: "is declined five times",
    act: async (page, shop, { id, checkout_url }) => {
      await choose(page, "declined");
      for (let attempt = 2; attempt < 5; attempt += 1)
        await shop.command("sandbox", "pay", id, "--outcome", "declined");
      await page.goto(checkout_url);
      await start(page);
      await choose(page, "declined");
    },
    status: "failed",
  },
  { name: "fails", act: (page) => choose(page, "failed"), status: "failed" },
  {
    name: "cancels in the wallet",
    act: (page) => choose(page, "cancelled"),
    status: "cancelled",
  },
  {
    name: "cancels on the page, which asks once",
    act: async (page, shop, sold) => {
      await page.goBack();
      const sure = page.locator(".ask form button");
      expect(await sure.isVisible()).toBe(false);
      await page.click(".ask > summary");
      expect([await sure.isVisible(), await shop.statusOf(sold)]).toEqual([true, "pending"]);
      await follow(page, ".ask form button");
    },
    status: "cancelled",
  },
  {
    name: "pays too late",
    act: async (page) => {
      await choose(page, "late");
      expect(await page.textContent(".notice")).toBe(english(PAYMENT_TEXTS.late));
    },
    status: "expired",
  },
  {
    name: "walks away",
    act: async (page, shop) => {
      await follow(page, "a[href$='/closed']");
      expect(await page.textContent("h2")).toBe(english(PAYMENT_TEXTS.walkedAway));
      await shop.command("sandbox", "clock", "advance", "1h");
    },
    status: "expired",
  },
];

const PAID = english(PAYMENT_TEXTS.result.succeeded);

/** Ways to reach an ending: with and without JavaScript, by each payment method. */
const WAYS = [true, false].flatMap((hasScript) =>
  ["alipay_plus", "wechat_pay"].map((method) => ({ hasScript, method })),
);

test("a browser reaches every ending of a payment, with both payment methods, with and without JavaScript", async () => {
  const shop = await openShop();
  const scripted = await shop.visit("about:blank");
  const plain = await shop.visit("about:blank", { javaScriptEnabled: false });
  // Outside a campaign half of the endings are tested, each in one way; test/sandbox/payment-endings.test.ts sends the
  // forms of all endings.
  for (const [at, { name, act, status }] of part([...ENDINGS.entries()], 2))
    for (const { hasScript, method } of part(WAYS, WAYS.length, at)) {
      const page = hasScript ? scripted : plain;
      const sold = await shop.sell({ payment_method: method });
      await page.goto(sold.checkout_url);
      await start(page);
      await act(page, shop, sold);
      await page.goto(sold.checkout_url);
      const told = [method, name, await page.textContent("h1"), await shop.statusOf(sold)];
      expect(told).toEqual([method, name, english(PAYMENT_TEXTS.result[status]), status]);
    }
  expect(shop.complaints).toEqual([]);
});

test("an open payment page shows changes from elsewhere without a reload", async () => {
  const shop = await openShop([], "program");
  const sold = await shop.sell();
  const page = await shop.visit(sold.checkout_url);
  await page.evaluate("window.loadedOnce = document.querySelector('[role=status]').seenBefore = true");
  await page.click(".notes > summary");
  const before = await page.textContent("[role=timer]");
  await page.locator("[role=timer]", { hasNotText: before ?? "" }).waitFor();
  expect(await page.getAttribute(".notes", "open")).toBe("");
  const phone = await page.context().newPage();
  await phone.goto(sold.checkout_url);
  await start(phone);
  await page.waitForSelector(".qr");
  await shop.command("sandbox", "pay", sold.id, "--outcome", "succeeded");
  await page.locator("h1", { hasText: PAID }).waitFor();
  await phone.locator("h2", { hasText: PAID }).waitFor();
  await eventually("the title follows", async () => expect(await page.title()).toContain(PAID));
  expect(await page.evaluate("window.loadedOnce")).toBe(true);
  // A screen reader announces changes only inside an element that was already on the page.
  expect(await page.textContent("[role=status]")).toBe(PAID);
  expect(await page.evaluate("document.querySelector('[role=status]').seenBefore")).toBe(true);
  expect(shop.complaints).toEqual([]);
  // The remaining time stands still while the store's clock is frozen, and runs out when the clock is moved.
  await shop.command("sandbox", "clock", "freeze");
  const left = await shop.sell();
  await page.goto(left.checkout_url);
  expect(await page.textContent("main")).toContain(english(PAYMENT_TEXTS.clockFrozen));
  await shop.command("sandbox", "clock", "advance", "54m");
  await page.waitForSelector("[role=timer]:text-matches('^0[56]:')");
  await shop.command("sandbox", "clock", "advance", "6m");
  await page.locator("h1", { hasText: english(PAYMENT_TEXTS.result.expired) }).waitFor();
  expect(await shop.statusOf(left)).toBe("expired");
});

test("an open payment page says that the server does not answer, and stops polling when the checkout is gone", async () => {
  const shop = await openShop(["--ephemeral"]);
  const sold = await shop.sell();
  const page = await shop.visit(sold.checkout_url);
  const silence = "document.querySelector('.no-answer').getAnimations()[0]";
  await page.evaluate(`${silence}.currentTime = 4000`);
  // Each answer restarts the time until the notice.
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
  expect(await page.textContent("h1")).toBe(english(PAYMENT_TEXTS.payTo("Sandbox Store")));
  await openShop(["--ephemeral", "--port", String(shop.sandbox.port)]);
  const missing = english(SHARED_TEXTS.errorTitle[404]);
  await page.locator("h1", { hasText: missing }).waitFor();
  expect(await page.textContent("[role=status]")).toBe(missing);
  expect(await page.locator("[hx-get], .no-answer").count()).toBe(0);
});

test("an open attempt shows a QR code on a desktop and the wallet's button on a phone, and promises no update without JavaScript", async () => {
  const shop = await openShop();
  const sold = await shop.sell();
  const look = async (customer: Customer): Promise<{ readonly seen: boolean[]; readonly text: string }> => {
    const page = await shop.visit(sold.checkout_url, customer);
    if ((await page.locator(".qr").count()) === 0) await page.click("button.primary");
    const wallet = page.locator(WALLET_LINK);
    await wallet.waitFor();
    // The style sheet decides which parts are visible.
    await page.waitForLoadState("load");
    const again = page.locator(`a.plain[href="${new URL(sold.checkout_url).pathname}"]`);
    const parts = [page.locator(".qr"), wallet, page.locator(".waiting"), again];
    const seen = await Promise.all(parts.map((one) => one.isVisible()));
    return { seen, text: (await page.locator("main").innerText()).replaceAll(/\s+/g, " ") };
  };
  const plain = await look({ javaScriptEnabled: false });
  const desk = await look({});
  const phone = await look({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } });
  expect([plain.seen, desk.seen, phone.seen]).toEqual([
    [true, true, false, true],
    [true, true, true, false],
    [false, true, true, false],
  ]);
  const { scan, scanHint, noPhone, payWith, openWallet } = PAYMENT_TEXTS;
  expect(desk.text).toContain(english(scan.alipay_plus));
  for (const words of [scan.alipay_plus, scanHint, noPhone]) expect(phone.text).not.toContain(english(words));
  expect(phone.text).toContain(`${english(payWith.alipay_plus)} ${english(openWallet)}`);
});

test("the QR code leads to the wallet of the open attempt, in both themes and under an allowed name", async () => {
  const shop = await openShop(["--allow-host", OTHER_HOST]);
  const sold = await shop.sell();
  const page = await shop.visit(sold.checkout_url.replace("127.0.0.1", OTHER_HOST));
  const readCode = async (): Promise<string | undefined> => {
    const picture = PNG.sync.read(await page.locator(".qr").screenshot());
    const code = jsqr.default(new Uint8ClampedArray(picture.data), picture.width, picture.height);
    return code?.data;
  };
  await page.click("button.primary");
  expect(await readCode()).toBe(`${page.url()}/wallet/1`);
  expect(await shop.statusOf(sold)).toBe("pending");
  await page.goto(sold.checkout_url);
  const address = `${sold.checkout_url}/wallet/1`;
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect([colorScheme, await readCode()]).toEqual([colorScheme, address]);
  }
  expect((await page.goto(address))?.status()).toBe(200);
  expect(await page.textContent("h1")).toContain(english(PAYMENT_TEXTS.wallet.alipay_plus));
});

test("double clicks, reloads, the back button and a second tab do not repeat an action", async () => {
  const shop = await openShop();
  const sold = await shop.sell();
  const first = await shop.visit(sold.checkout_url);
  const second = await first.context().newPage();
  await second.goto(sold.checkout_url);
  const tabs = [first, second];
  // On a busy machine a tab would follow the other tab before the test clicks in it.
  const isFollowing = (route: Route): boolean => route.request().headers()["hx-request"] !== undefined;
  const stay = (route: Route): Promise<void> => (isFollowing(route) ? route.abort() : route.continue());
  await Promise.all(tabs.map((page) => page.route(sold.checkout_url, stay)));
  await Promise.all(tabs.map((page) => page.dblclick("button.primary")));
  await Promise.all(tabs.map((page) => page.waitForSelector(".qr")));
  await Promise.all(tabs.map((page) => page.unroute(sold.checkout_url)));
  await first.reload();
  await follow(first, WALLET_LINK);
  await follow(second, WALLET_LINK);
  await second.route(/\/wallet\//, stay);
  await choose(first, "declined");
  await first.goBack();
  // The second tab still shows the wallet of the attempt that was declined.
  await choose(second, "succeeded");
  await second.unroute(/\/wallet\//);
  expect(await second.textContent("h2")).toBe(english(PAYMENT_TEXTS.walletDeclined));
  expect(await shop.statusOf(sold)).toBe("pending");
  await second.goto(sold.checkout_url);
  await second.click(".notes > summary");
  expect(await second.textContent(".notes")).toContain(`1: ${english(PAYMENT_TEXTS.outcome.declined)}`);
  expect(await second.textContent(".notes")).not.toContain("2:");
  await start(second);
  await second.dblclick("button.primary");
  await second.locator("h2", { hasText: PAID }).waitFor();
  await second.reload();
  await second.goBack();
  await first.goto(sold.checkout_url);
  expect(await first.textContent("h1")).toBe(PAID);
  expect(await shop.statusOf(sold)).toBe("succeeded");
});

test("the return link has both ids and no status, and is followed automatically only right after a payment", async () => {
  const shop = await openShop();
  const thanks = (orderId: string, { id }: SoldCheckout): string =>
    `http://localhost:3000/thanks?order_id=${orderId}&session_id=${id}`;
  const pay = ({ id }: SoldCheckout): Promise<unknown> =>
    shop.command("sandbox", "pay", id, "--outcome", "succeeded");
  const unpaid = await shop.sell({ order_id: "order ä&status=paid" });
  const page = await shop.visit(unpaid.checkout_url);
  await page
    .context()
    .route("http://localhost:3000/**", (route) =>
      route.fulfill({ contentType: "text/html", body: "<h1>the shop</h1>" }),
    );
  expect(await page.locator("a[href^='http']").count()).toBe(0);
  const added = await shop.command("return-origins", "add", "http://localhost:3000", "--path", "/thanks");
  expect(added.code).toBe(0);
  const link = page.locator("a[href^='http://localhost:3000/']");
  await link.waitFor();
  expect(await link.textContent()).toBe(english(PAYMENT_TEXTS.returnUnpaid("Sandbox Store")));
  expect(await link.getAttribute("href")).toBe(thanks("order%20%C3%A4%26status%3Dpaid", unpaid));
  const [request] = await Promise.all([page.waitForRequest("http://localhost:3000/**"), link.click()]);
  expect([request.method(), request.headers()["referer"]]).toEqual(["GET", undefined]);
  expect(await shop.statusOf(unpaid)).toBe("created");

  // A page that is open while another device pays.
  const sold = await shop.sell({ order_id: "order-1" });
  await page.goto(sold.checkout_url);
  await pay(sold);
  await page.waitForSelector("send-back [role=timer]");
  await page.waitForSelector("h1:text('the shop')");
  expect(page.url()).toBe(thanks("order-1", sold));
  const { stdout: story } = await shop.command("explain", sold.id);
  const { pageOpened, browserReturned } = EXPLAIN_SENTENCES;
  const [, later] = story.split(english(pageOpened));
  expect(later).toContain(english(browserReturned("http://localhost:3000/thanks")));
  await page.goBack();
  await page.locator("h1", { hasText: PAID }).waitFor();
  expect(await page.locator("send-back").count()).toBe(0);
  const another = await shop.sell({ order_id: "order-2" });
  await pay(another);
  await page.goto(another.checkout_url);
  await follow(page, "a[href$='?stay']");
  expect([page.url(), await page.locator("send-back").count()]).toEqual([`${another.checkout_url}?stay`, 0]);
  expect(await page.getAttribute("a.primary", "href")).toBe(thanks("order-2", another));
  const without = await shop.visit(another.checkout_url, { javaScriptEnabled: false });
  expect(await without.locator("send-back").isVisible()).toBe(false);
  await shop.command("sandbox", "clock", "advance", "2m");
  await page.goto(another.checkout_url);
  expect(await page.locator("send-back").count()).toBe(0);
  expect(shop.complaints).toEqual([]);
});

/**
 * The locale of a browser, and the language of its pages. Each page is checked in both languages, or in the language
 * that the seed selects; `from` is the language's place in that selection.
 */
type Language = { readonly locale: string; readonly lang: string; readonly from: number };
const LANGUAGES: readonly Language[] = [
  { locale: "en-US", lang: "en", from: 0 },
  { locale: "zh-CN", lang: "zh-Hans", from: 1 },
];

const HEIGHT = 700;
/** A look of a page, and the axe rules to check in it (default: none). The page must fit the window in every look. */
type AxeLook = Look & { readonly by?: NonNullable<Parameters<typeof axeFaults>[1]> };
/** Looks with text at its normal size, or doubled; a theme changes only colours. */
const LOOKS: readonly AxeLook[] = [
  { colorScheme: "light", width: 1440, text: "100%", by: { atLeast: 5 } },
  { colorScheme: "dark", width: 1440, text: "100%", by: { rules: ["color-contrast"] } },
  { colorScheme: "dark", width: 768, text: "100%" },
  { colorScheme: "dark", width: 390, text: "100%" },
  { colorScheme: "dark", width: 390, text: "200%" },
  { colorScheme: "dark", width: 320, text: "200%" },
  { colorScheme: "dark", width: 320, text: "100%" },
];

/** The browser's own console line for a page with status 403, 404 or 405. */
const ANSWERED_WITH_ERROR = /^Failed to load resource: the server responded with a status of 40[345]/;

test("axe accepts the payment pages in every state, language and theme, and they fit a narrow phone with doubled text", async () => {
  const shop = await openShop();
  await shop.command("return-origins", "add", "https://shop.example");
  const pages = await pagesInEveryState(shop);
  const look = async ({ locale, lang, from }: Language): Promise<string[]> => {
    const found: string[] = [];
    const page = await shop.visit("about:blank", { locale });
    const showAs = lookSetter(page, HEIGHT);
    for (const [at, [name, open]] of part(Object.entries(pages), 4 * LANGUAGES.length, from).entries()) {
      const looks = at % 2 === 0 ? LOOKS : LOOKS.toReversed();
      for (const first of looks.slice(0, 1)) await showAs(first);
      await open(page);
      await page.evaluate("for (const notes of document.querySelectorAll('.notes')) notes.open = true");
      for (const one of looks) {
        const { colorScheme, width, text, by } = one;
        await showAs(one);
        expect([name, locale, width, text, await page.evaluate(MEASURE)]).toEqual([
          name,
          locale,
          width,
          text,
          FITS,
        ]);
        if (by === undefined) continue;
        const faults = [...(await axeFaults(page, by)), ...(await page.evaluate<string[]>(MORE_FAULTS))];
        found.push(...faults.map((fault) => `${name}, ${locale}, ${colorScheme}: ${fault}`));
      }
      expect(await page.getAttribute("html", "lang")).toBe(lang);
    }
    return found;
  };
  const found = await Promise.all(LANGUAGES.map(look));
  expect(found.flat()).toEqual([]);
  expect(shop.complaints.filter((one) => !ANSWERED_WITH_ERROR.test(one))).toEqual([]);
  // The rules do find faults in a bad page.
  const bad = await shop.visit("about:blank");
  await bad.setContent("<main><img src='data:,'><button></button></main>");
  expect((await axeFaults(bad)).length).toBeGreaterThan(1);
  await bad.setContent("<p>Pay</p><p style='color: #999; background: #888'>the price</p>");
  expect(await axeFaults(bad, { rules: ["color-contrast"] })).toHaveLength(1);
});

/** A rendered page: its elements, the merchant's texts, and the number of pixels by which it is too wide. */
type RenderedPage = { readonly skeleton: string; readonly texts: readonly string[]; readonly excess: number };

test("hostile texts of a merchant are escaped on the payment page", async () => {
  const shop = await openShop();
  expect(HOSTILE_TEXTS.length).toBeGreaterThanOrEqual(60);
  // A page without a checkout does not update itself.
  const page = await shop.visit(`${shop.sandbox.ready.checkout_origin}/`);
  const look = ({ checkout_url }: SoldCheckout): Promise<RenderedPage> =>
    page.evaluate<RenderedPage>(`(${SHOWN_IN_PLACE})(${JSON.stringify(checkout_url)})`);
  const plain = await look(await shop.sell());
  expect([plain.skeleton.length > 500, plain.excess]).toEqual([true, 0]);
  for (const text of part(HOSTILE_TEXTS, 4)) {
    const order = Array.from(text).slice(0, 32).join("");
    const shown = await look(await shop.sell({ order_id: order, description: text }));
    const texts = [inMarkup(text), inMarkup(order)];
    expect([text, shown]).toEqual([text, { skeleton: plain.skeleton, texts, excess: 0 }]);
  }
  expect(shop.complaints).toEqual([]);
});

/** Text as on a page: line breaks become blanks, the family emoji stays whole, and the rest is as on a terminal. */
function inMarkup(text: string): string {
  const keepsJoiners = text.startsWith("😀");
  return keepsJoiners ? text : printable(displayText(text).replace(/\r\n|[\n\u2028\u2029]/g, " "));
}

/** Starts an attempt and opens its wallet. */
async function start(page: Page): Promise<void> {
  await page.click("button.primary");
  await follow(page, WALLET_LINK);
}

type WalletOutcome = (typeof WALLET_OUTCOMES)[number];

const WALLET_LINK = "a.primary[href*='/wallet/']";

/** The button of the wallet that ends the attempt with an outcome. */
function outcomeButton(page: Page, outcome: WalletOutcome): Locator {
  return page.locator(`form:has([name=outcome][value=${outcome}]) button`);
}

async function choose(page: Page, outcome: WalletOutcome): Promise<void> {
  await outcomeButton(page, outcome).click();
  await page.waitForLoadState();
}

/** Clicks a link or a button that leads to another page. */
async function follow(page: Page, selector: string): Promise<void> {
  await page.click(selector);
  await page.waitForLoadState();
}

/** Values that make the elements of a page as wide as possible. */
const WIDEST = { description: "W".repeat(128), amount_minor: Number.MAX_SAFE_INTEGER, currency: "CNY" };
const WIDEST_ORDER = "W".repeat(20);

/** A form of a checkout's page: its path below the page, and its fields without the token. */
type Form = readonly [path: string, fields?: Readonly<Record<string, string>>];

/** Sends forms of a checkout's page, one after the other, without a browser. */
async function sendForms(checkout: SoldCheckout, forms: readonly Form[]): Promise<void> {
  const { checkout_url: address } = checkout;
  const { origin } = new URL(address);
  const [, token = ""] = /name="token" value="([^"]+)"/.exec(await (await fetch(address)).text()) ?? [];
  for (const [path, fields] of forms) {
    const body = new URLSearchParams({ token, ...fields });
    const answer = await fetch(`${address}${path}`, {
      method: "POST",
      redirect: "manual",
      headers: { "Sec-Fetch-Site": "same-origin", Origin: origin },
      body,
    });
    expect([path, fields, answer.status]).toEqual([path, fields, 303]);
  }
}

/** Functions that open each page in each state, by name; the store's clock is frozen. */
async function pagesInEveryState(shop: Shop): Promise<Record<string, (page: Page) => Promise<unknown>>> {
  let number = 0;
  const open = async (forms: readonly Form[], suffix = ""): Promise<string> => {
    number += 1;
    const orderId = WIDEST_ORDER + String(number).padStart(2, "0") + suffix;
    const sold = await shop.sell({
      payment_method: number % 2 ? "wechat_pay" : "alipay_plus",
      ...WIDEST,
      order_id: orderId,
    });
    await sendForms(sold, forms);
    return sold.checkout_url;
  };
  const inWallet = (outcome: string): readonly Form[] => [["/start"], ["/wallet/1", { outcome }]];
  const created = await open([]);
  const pending = await open([["/start"]]);
  const declined = await open(inWallet("declined"));
  const succeeded = await open(inWallet("succeeded"));
  const failed = await open(inWallet("failed"));
  const cancelled = await open(inWallet("cancelled"));
  const late = await open(inWallet("late"));
  await shop.command("sandbox", "clock", "freeze");
  const settles = await open([], "~declined");
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
  // No other test examines pages that are missing in this list.
  expect(unseen).toEqual([]);
  const ways = Object.entries(addresses).map(
    ([name, address]) => [name, (visitor: Page) => visitor.goto(address)] as const,
  );
  const withoutToken = async (visitor: Page): Promise<void> => {
    await visitor.goto(created);
    // The form is sent at once, because the next answer brings the token back.
    await visitor.evaluate(
      "document.querySelector('input[name=token]').value = ''; document.querySelector('button.primary').click()",
    );
    await visitor.waitForSelector("main:not([hx-get]) h1");
  };
  const sentBack = async (visitor: Page): Promise<void> => {
    // Without the interval the page does not return to the shop while it is examined.
    await visitor.addInitScript("window.setInterval = () => 0");
    await visitor.goto(succeeded);
  };
  return { ...Object.fromEntries(ways), succeeded: sentBack, "form refused": withoutToken };
}

/** An expression for the browser: the page's horizontal overflow in pixels, and the digits that wrap. */
const MEASURE = `({
  overflow: Math.max(0, document.documentElement.scrollWidth - window.innerWidth),
  brokenDigits: [...document.querySelectorAll(".digits")].flatMap((digits) => [...digits.childNodes]).filter((piece) => {
    const range = document.createRange();
    range.selectNodeContents(piece);
    return range.getClientRects().length > 1;
  }).map((piece) => piece.textContent),
})`;
const FITS = { overflow: 0, brokenDigits: [] };

/** An expression for faults that axe does not find: wrong live regions, and marks with a low contrast. */
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

/** Lists the elements of a document with the names of their attributes. */
const SKELETON = `(shown) => [...shown.querySelectorAll("*")].map((one) => {
  const names = [...one.attributes].map(({ name }) => name).sort();
  return one.tagName + "[" + names.join(" ") + "]";
}).join("\\n")`;

/**
 * Parses and lays out a page in a browser, in place of the body of the browser's own page, without running its scripts.
 */
const SHOWN_IN_PLACE = `async (address) => {
  const answer = await fetch(address);
  const shown = new DOMParser().parseFromString(await answer.text(), "text/html");
  const skeleton = (${SKELETON})(shown);
  const texts = [...shown.querySelectorAll("bdi")].map((one) => one.textContent);
  document.body.replaceWith(shown.body);
  return { skeleton, texts, excess: Math.max(0, document.documentElement.scrollWidth - innerWidth) };
}`;
