import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { BrowserContextOptions, Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { english } from "../../src/core/language.ts";
import { FRAME_TEXTS } from "../../src/sandbox/pages/portal/texts.ts";
import { axeFaults } from "../support/axe.ts";
import { part } from "../support/campaign.ts";
import { eventually } from "../support/eventually.ts";
import { signInAdministrator, signInMerchant } from "../support/portal-browser.ts";
import { runHere, startSandboxHere } from "../support/program.ts";
import { sharedBrowser } from "../support/shop.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** A sandbox, and browsers that can be signed in to its portal. */
async function openSite() {
  const cwd = tempFolder();
  const [sandbox, browser] = await Promise.all([startSandboxHere({ cwd }), sharedBrowser()]);
  const complaints: string[] = [];
  const visit = async (options: BrowserContextOptions = {}): Promise<Page> => {
    const context = await browser.newContext({ locale: "en", timezoneId: "Asia/Tokyo", ...options });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    page.on("pageerror", ({ message }) => complaints.push(message));
    page.on("console", (message) => {
      // The browser's own console line for a page with status 401 or 404 is not an error of the page.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
        complaints.push(message.text());
    });
    return page;
  };
  const link = async (): Promise<string> => (await runHere(["open", "--print"], { cwd })).stdout.trim();
  const visitSignedIn = async (options: BrowserContextOptions = {}): Promise<Page> => {
    const page = await visit(options);
    await signInMerchant(page.context(), sandbox);
    return page;
  };
  const home = `${sandbox.ready.portal_url ?? ""}/${sandbox.ready.store_id}`;
  return { cwd, sandbox, visit, visitSignedIn, link, home, complaints };
}

test("the sign-in code leaves the address bar immediately, and is in no Referer, history or title", async () => {
  const { visit, link, home, complaints } = await openSite();
  const page = await visit();
  const sent: string[] = [];
  page.on("request", (request) => {
    const { referer = "" } = request.headers();
    sent.push(`${request.url()} ${referer}`);
  });
  const address = await link();
  const { hash } = new URL(address);
  const code = hash.slice("#t=".length);
  await page.goto(address);
  await page.waitForURL(`${home}/connect`);
  expect(sent.filter((text) => text.includes(code))).toEqual([]);
  await page.goBack();
  expect(page.url()).not.toContain(code);
  await page.goForward();
  await page.click("nav a[href$='/clock']");
  await page.waitForURL(`${home}/clock`);
  expect(await page.evaluate("document.referrer + document.title + location.href")).not.toContain(code);
  expect(await page.evaluate("document.cookie")).toBe("");
  expect(complaints).toEqual([]);
});

/** Starts another user's program on a port of this machine, and records the requests that browsers send to it. */
async function listenBeside() {
  const got: { readonly path: string; readonly cookie: string; readonly referer: string }[] = [];
  const server = createServer(({ url: path = "", headers: { cookie = "", referer = "" } }, response) => {
    got.push({ path, cookie, referer });
    response
      .writeHead(200, { "Content-Type": "text/html" })
      .end('<!doctype html><link rel="icon" href="data:,">');
  });
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { got, origin: `http://localhost:${port}` };
}

test("a signed-in browser sends no cookie or address of the portal to another port", async () => {
  const { cwd, sandbox, visitSignedIn, home } = await openSite();
  const { got, origin } = await listenBeside();
  const page = await visitSignedIn();
  await signInAdministrator(page.context(), sandbox);
  const { pathname } = new URL(sandbox.ready.portal_url ?? "");
  const other = pathname.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
  const guesses = [other, pathname.slice(0, -1), `${pathname}x`, pathname.toUpperCase(), "/portal/k-"];
  const store = sandbox.ready.store_id;
  const known = [
    "/",
    "/portal",
    "/portal/",
    "/portal/admin",
    "/portal/sign-in",
    `/portal/${store}/connect`,
    "/pay/x",
  ];
  const paths = [...known, ...guesses, ...guesses.map((guess) => `${guess}/admin`)];
  for (const path of ["/", `${other}/admin`]) {
    await page.goto(`${home}/clock`);
    expect(await page.textContent("h1")).toBe(english(FRAME_TEXTS.clock));
    await page.evaluate(`location.assign(${JSON.stringify(origin + path)})`);
    await page.waitForURL(origin + path);
    expect(got.at(-1)).toEqual({ path, cookie: "", referer: "" });
  }
  // The page on the other port fetches all other paths: a browser sends the cookies of a path whichever page requests
  // it.
  got.length = 0;
  await page.evaluate(`Promise.all(${JSON.stringify(paths)}.map((path) => fetch(path)))`);
  expect(got.map(({ path, cookie }) => `${path} ${cookie}`).toSorted()).toEqual(
    paths.map((path) => `${path} `).toSorted(),
  );
  expect(paths).toContain(`${other}/admin`);
  // Payment pages have another origin, so they get no cookie or referer either.
  const line = ["orders", "create", "--json", "--order-id", "order-1", "--price-id", "price_coffee"];
  const made = JSON.parse((await runHere(line, { cwd })).stdout) as {
    data: { checkout_url: string; id: string };
  };
  await page.goto(`${home}/checkouts/${made.data.id}`);
  const opened = page.context().waitForEvent("request", (sent) => sent.url() === made.data.checkout_url);
  await page.click(`a[href="${made.data.checkout_url}"]`);
  const { referer, cookie } = await (await opened).allHeaders();
  expect([referer, cookie]).toEqual([undefined, undefined]);
});

test("without JavaScript a sign-in link can be pasted into the form, and language buttons and sign-out work", async () => {
  const { visit, link, home } = await openSite();
  const page = await visit({ javaScriptEnabled: false });
  await page.goto(`${home}/clock`);
  await page.fill("[name=code]", await link());
  await page.click("#sign-in button");
  expect([page.url(), await page.textContent("h1")]).toEqual([`${home}/clock`, english(FRAME_TEXTS.clock)]);
  await page.click("button[lang='zh-Hans']");
  expect([page.url(), await page.getAttribute("html", "lang")]).toEqual([`${home}/clock`, "zh-Hans"]);
  await page.click("button[lang='en']");
  await page.click("details.end > summary");
  await page.click("form[action$='/sign-out'] button");
  expect(page.url()).toMatch(/\/portal\/k-[\w-]+\/sign-in$/);
  await page.goto(`${home}/clock`);
  expect(await page.textContent("h1")).toBe(english(FRAME_TEXTS.signIn));
});

/** Presses a key in a closed dialog, where a browser leaves the focus until it paints the page again. */
const KEY_IN_CLOSED_DIALOG = `
  const dialog = document.querySelector("#keys");
  dialog.showModal();
  dialog.close();
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true }));
`;

const FOCUSED_ROW = `[...document.querySelectorAll("main tbody tr")].indexOf(document.activeElement.closest("tr"))`;

test("single-key shortcuts navigate, but not while the user types or when they are switched off", async () => {
  const { visitSignedIn, home, complaints } = await openSite();
  const page = await visitSignedIn();
  await page.goto(`${home}/connect`);
  await page.keyboard.press("?");
  expect(await page.isVisible("dialog#keys[open]")).toBe(true);
  expect(await axeFaults(page, { within: "#keys" })).toEqual([]);
  await page.keyboard.press("Escape");
  await page.locator("dialog#keys").waitFor({ state: "hidden" });
  await page.evaluate(KEY_IN_CLOSED_DIALOG);
  expect(await page.evaluate("document.activeElement.id")).toBe("search");
  await page.evaluate("document.activeElement.blur()");
  await page.keyboard.press("/");
  expect(await page.evaluate("document.activeElement.id")).toBe("search");
  await page.keyboard.type("gc?/j");
  expect([page.url(), await page.inputValue("#search")]).toEqual([`${home}/connect`, "gc?/j"]);
  await page.evaluate("document.activeElement.blur()");
  await page.keyboard.press("g");
  await page.keyboard.press("l");
  await page.waitForURL(`${home}/launch`);
  for (const list of ["catalog", "keys"]) {
    await page.goto(`${home}/${list}`);
    const rows = await page.locator("main tbody tr").count();
    for (const [key, row] of [
      ["j", 0],
      ["j", Math.min(1, rows - 1)],
      ["k", 0],
      ["k", 0],
    ] as const) {
      await page.keyboard.press(key);
      expect([list, await page.evaluate(FOCUSED_ROW)]).toEqual([list, row]);
    }
    // Enter in a row without a link does nothing, even if the row has buttons.
    await page.keyboard.press("Enter");
    expect([page.url(), await page.locator("main tbody details[open]").count()]).toEqual([
      `${home}/${list}`,
      0,
    ]);
  }
  await page.goto(`${home}/connect`);
  await page.click("details.end > summary");
  await page.click("button[name=keys][value=off]");
  await page.waitForLoadState();
  await page.keyboard.press("?");
  await page.keyboard.press("/");
  expect(await page.evaluate("document.activeElement.id")).not.toBe("search");
  expect(await page.locator("dialog").count()).toBe(0);
  expect(complaints).toEqual([]);
});

test("the store's clock is shown in the browser's time zone, and a page without a session has a command to copy", async () => {
  const { cwd, visitSignedIn, home } = await openSite();
  await runHere(["sandbox", "clock", "freeze"], { cwd });
  const page = await visitSignedIn({ permissions: ["clipboard-read", "clipboard-write"] });
  await page.goto(`${home}/connect`);
  const whole = (await page.getAttribute(".clock time", "title")) ?? "";
  const tokyo = new Date(Date.parse(whole) + 9 * 3_600_000).toISOString();
  const expected = `${tokyo.slice(0, 10)} ${tokyo.slice(11, 19)}`;
  expect([await page.textContent(".clock time"), await page.textContent(".zone")]).toEqual([
    expected,
    "GMT+9",
  ]);
  await page.context().clearCookies();
  await page.reload();
  await page.click("button.copier");
  await eventually("the command is copied", async () =>
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe("checkout open"),
  );
});

test("lists and stories show dates in the browser's zone, and in UTC without JavaScript", async () => {
  const { cwd, visitSignedIn, home, complaints } = await openSite();
  await runHere(["sandbox", "clock", "set", "2030-01-01T20:00:00Z"], { cwd });
  // No receiver listens at this address, so the delivery is retried for days.
  await runHere(["endpoints", "add", "http://127.0.0.1:9/hooks"], { cwd });
  await runHere(["orders", "create", "--order-id", "order-1", "--price-id", "price_coffee"], { cwd });
  await runHere(["sandbox", "clock", "advance", "30h"], { cwd });
  // Now it is 02:00 on 3 January in UTC; 14 hours later it is still 3 January in UTC, but not in Tokyo.
  await runHere(["orders", "create", "--order-id", "order-2", "--price-id", "price_coffee"], { cwd });
  await runHere(["sandbox", "clock", "advance", "14h"], { cwd });
  for (const [options, hours, listed] of [
    [{}, 9, /^2030-01-03 11:0\d:\d\d$/],
    [{ javaScriptEnabled: false }, 0, /^02:0\d:\d\d\.\d{3}$/],
  ] as const) {
    const page = await visitSignedIn(options);
    await page.goto(`${home}/checkouts`);
    expect(await page.textContent("tr:has-text('order-2') time")).toMatch(listed);
    await page.click("tr[data-row] a:has-text('order-1')");
    await page.waitForSelector(".story");
    const rows = await page.evaluate<readonly { readonly day: string | null; readonly at: string }[]>(
      `[...document.querySelectorAll(".story > li, .story .under > li")].map((one) => ({
        day: one.className === "day" ? one.textContent : null,
        at: one.querySelector("time")?.dateTime ?? "",
      }))`,
    );
    let day: string | null = null;
    const days = new Set<string | null>();
    for (const row of rows) {
      day = row.day ?? day;
      if (row.day !== null) continue;
      days.add(day);
      expect([row.at, day]).toEqual([
        row.at,
        new Date(Date.parse(row.at) + hours * 3_600_000).toISOString().slice(0, 10),
      ]);
    }
    expect(days.size).toBeGreaterThan(1);
    // Attempts on other days than their event show their date.
    expect(await page.textContent(".attempts li:last-child .at")).toMatch(/^2030-01-0\d \d\d:/);
  }
  await expectSavedStory({ cwd, visit: visitSignedIn, home });
  expect(complaints).toEqual([]);
});

/** Downloads the story of order-1 by its link, and opens the file: it has the styles of the page, and loads nothing. */
async function expectSavedStory(site: {
  readonly cwd: string;
  readonly visit: () => Promise<Page>;
  readonly home: string;
}): Promise<void> {
  const page = await site.visit();
  const looks = `[...document.querySelectorAll("main h1, main .badge, main .story .at, body")].slice(0, 9).map((one) => {
    const { color, backgroundColor, fontSize, fontFamily, display } = getComputedStyle(one);
    return [one.tagName, color, backgroundColor, fontSize, fontFamily, display];
  })`;
  await page.goto(`${site.home}/checkouts?q=order-1`);
  await page.click("tr[data-row] a:has-text('order-1')");
  const shown = await page.evaluate(looks);
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("a[download]")]);
  const file = join(site.cwd, download.suggestedFilename());
  await download.saveAs(file);
  const sent: string[] = [];
  page.on("request", (request) => sent.push(request.url()));
  await page.goto(pathToFileURL(file).href);
  expect(await page.evaluate(looks)).toEqual(shown);
  expect(sent.filter((url) => !url.startsWith("data:"))).toEqual([pathToFileURL(file).href]);
  await page.click(".story summary >> nth=0");
  expect(await page.isVisible(".story details[open] .more")).toBe(true);
}

test("sign-in and error pages are accessible from 320 px, and the bar and the menu fit", async () => {
  const { cwd, sandbox, visit, home, complaints } = await openSite();
  const looks = [
    ["light", "en", 1280],
    ["light", "zh-CN", 375],
    ["dark", "zh-CN", 320],
    ["dark", "en", 1440],
  ] as const;
  for (const [colorScheme, locale, width] of part(looks, 2)) {
    const page = await visit({ colorScheme, locale, viewport: { width, height: 800 } });
    const isTooWide = (): Promise<unknown> =>
      page.evaluate("document.documentElement.scrollWidth > innerWidth");
    const check = async (name: string): Promise<void> => {
      const found = [colorScheme, width, name, await isTooWide(), await axeFaults(page)];
      expect(found).toEqual([colorScheme, width, name, false, []]);
    };
    // A click does not wait until the next page is loaded.
    const signIn = async (): Promise<void> => {
      const loaded = page.waitForEvent("load");
      await page.click("#sign-in button");
      await loaded;
    };
    await page.goto(`${home}/connect`);
    await check("not signed in");
    await page.goto(`${sandbox.ready.portal_url ?? ""}/admin/sign-in`);
    await page.fill("[name=admin_token]", "wrong");
    await signIn();
    await check("a wrong token");
    await page.fill("[name=admin_token]", adminTokenIn(cwd));
    await signIn();
    await signInMerchant(page.context(), sandbox);
    // The menu is wider than a phone, but the entry of the current page is in sight.
    await page.goto(`${home}/launch`);
    const here = await page.locator(".menu [aria-current]").boundingBox();
    expect([width, here !== null && here.x >= 0 && here.x + here.width <= width]).toEqual([width, true]);
    // The header takes three rows at most.
    const header = await page.locator(".bar").boundingBox();
    expect([width, (header?.height ?? 999) <= 120]).toEqual([width, true]);
    await page.goto(`${home}/nothing/here`);
    await check("no such page");
    // Text of twice the size.
    await page.evaluate("document.documentElement.style.fontSize = '200%'");
    expect([width, await isTooWide()]).toEqual([width, false]);
  }
  expect(complaints).toEqual([]);
});

function adminTokenIn(cwd: string): string {
  const text = readFileSync(join(cwd, ".checkout", "admin.json"), "utf8");
  return (JSON.parse(text) as { readonly admin_token: string }).admin_token;
}
