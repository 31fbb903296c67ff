import type { Page } from "playwright-core";
import { afterAll, expect, test } from "vitest";
import { part } from "../support/campaign.ts";
import { launchBrowser } from "../support/browser.ts";
import { openSignedIn } from "../support/portal-browser.ts";
import { openShop, type Shop } from "../support/shop.ts";

/** Glyphs with exact widths, and glyphs with widths rounded to whole pixels, as on many Linux desktops. */
const GLYPHS = {
  exact: [],
  whole: ["--font-render-hinting=full", "--disable-font-subpixel-positioning"],
} as const;

/** The generic font families, each with a font of the machine. */
const FONTS = ["monospace", "sans-serif", "serif"] as const;
const WIDTHS = [390, 768, 1440] as const;
/** Sizes of text; at the last size no glyph is a whole number of pixels wide. */
const TEXTS = ["100%", "200%", "106.7%"] as const;

const closing: (() => Promise<void>)[] = [];
afterAll(async () => void (await Promise.all(closing.map((close) => close()))));

type WrappedTimes = { readonly text: string; readonly font: string; readonly times: readonly string[] };

/** The number of times on a page, and the times that wrap, for each size of text and each font. */
const WRAPPED = `(() => {
  const wrapped = [];
  const times = [...document.querySelectorAll("main .story .at, main td time, main .at time")];
  const isWrapped = (one) => {
    const text = document.createRange();
    text.selectNodeContents(one);
    const tops = [...text.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => Math.round(top));
    return new Set(tops).size > 1;
  };
  for (const text of ${JSON.stringify(TEXTS)}) {
    document.documentElement.style.fontSize = text;
    for (const font of ${JSON.stringify(FONTS)}) {
      for (const one of times) one.style.fontFamily = font;
      const found = times.filter(isWrapped).map((one) => one.textContent.trim());
      if (found.length > 0) wrapped.push({ text, font, times: found });
    }
  }
  return { count: times.length, wrapped };
})()`;

async function signedInWith(shop: Shop, args: readonly string[]): Promise<{ page: Page; home: string }> {
  if (args.length === 0) return openSignedIn(shop);
  const browser = await launchBrowser(args);
  closing.push(() => browser.close());
  const visit: Shop["visit"] = async (url) => {
    const page = await (await browser.newContext({ locale: "en-US" })).newPage();
    await page.goto(url);
    return page;
  };
  return openSignedIn({ ...shop, visit });
}

test("the portal keeps every time on one line, in three fonts and at every width and font size", async () => {
  const shop = await openShop();
  await shop.command("endpoints", "add", "http://127.0.0.1:9/hooks");
  const { id } = await shop.sell();
  await shop.sell({ order_id: "order-1", amount_minor: 2999 }).catch(() => undefined);
  await shop.command("sandbox", "pay", id, "--outcome", "declined");
  await shop.command("sandbox", "clock", "advance", "20m");
  let looked = 0;
  for (const [glyphs, args] of Object.entries(GLYPHS)) {
    const { page, home } = await signedInWith(shop, args);
    const paths = [`/checkouts/${id}`, "/checkouts", "/requests", "/webhooks", "/overview", "/clock"];
    for (const path of part(paths, 3)) {
      await page.goto(`${home}${path}`);
      await page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true");
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        const { count, wrapped } = await page.evaluate<{ count: number; wrapped: readonly WrappedTimes[] }>(
          WRAPPED,
        );
        expect([glyphs, path, width, wrapped]).toEqual([glyphs, path, width, []]);
        looked += count * TEXTS.length * FONTS.length;
      }
    }
  }
  expect(looked).toBeGreaterThan(300);
});
