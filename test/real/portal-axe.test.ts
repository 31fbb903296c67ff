import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { PORTAL_AREA } from "../../src/sandbox/pages/portal/portal.ts";
import { axeFaults } from "../support/axe.ts";
import { FULL, part, SEED } from "../support/campaign.ts";
import { portalPages, type PortalIds, type PortalPage } from "../support/portal-addresses.ts";
import { signInAdministrator, openSignedIn } from "../support/portal-browser.ts";
import { lookSetter, type Look, type SetLook } from "../support/looks.ts";
import { openShop, type Shop } from "../support/shop.ts";
import { sideBySide } from "../support/side-by-side.ts";

/** Maximum compressed size of a page before it is painted, without htmx and its extension, which are cached. */
const MAX_FIRST_PAINT_BYTES = 30 * 1024;
const SHARED_SCRIPT = /\/(htmx|hx-\w+)\.js/;

/** A look of a page, and the axe rules to check in it (default: all). A page must not be wider than the window. */
type AxeLook = Look & { readonly rules?: readonly string[] };

/** The number of pixels by which a page is too wide. */
const EXCESS = "document.documentElement.scrollWidth - innerWidth";

/** Tables that are partly out of sight. */
const CUT_TABLES = `[...document.querySelectorAll(".scroll")]
  .filter((one) => one.scrollWidth > one.clientWidth)
  .map((one) => "a part is out of sight: " + one.getAttribute("aria-label"))`;

/** Times on a page in the program's format, except in code and in text to type. */
const RAW_MOMENTS = `[...document.querySelectorAll("main *:not(time, pre, pre *, script)")]
  .flatMap((one) => [...one.childNodes])
  .filter((one) => one.nodeType === 3 && /\\d{4}-\\d\\d-\\d\\dT\\d\\d:/.test(one.data))
  .map((one) => "is in UTC: " + one.data.trim())`;

const COLOURS = ["color-contrast"];

/** A browser that zooms to 200 % has half the width. */
const ZOOM = 2;

/** A campaign's looks: all rules in each width at 100 % and 200 %, and colours in the dark. */
const EVERY_LOOK: readonly AxeLook[] = [
  ...[1440, 768, 390]
    .flatMap((width) => [width, width / ZOOM])
    .flatMap((width): AxeLook[] => [
      { colorScheme: "light", width, text: "100%" },
      { colorScheme: "dark", width, text: "100%", rules: COLOURS },
    ]),
  { colorScheme: "light", width: 1440, text: "200%" },
  { colorScheme: "light", width: 940, text: "100%", rules: [] },
  { colorScheme: "light", width: 320, text: "100%", rules: [] },
];

/**
 * One look with all rules in the light theme, or with the colours in the dark theme; the other looks check only that
 * the page fits the window. The theme changes only once, because that is the slowest change.
 */
const fewLooks = (colorScheme: Look["colorScheme"], darkWidth: 1440 | 390): readonly AxeLook[] => [
  { colorScheme: "light", width: 1440, text: "200%", rules: [] },
  { colorScheme: "light", width: 1440, text: "100%", ...(colorScheme === "light" ? {} : { rules: [] }) },
  ...[1440, 940, 768, 390, 320].map((width): AxeLook => {
    const rules = colorScheme === "dark" && width === darkWidth ? COLOURS : [];
    return { colorScheme: "dark", width, text: "100%", rules };
  }),
];

/** In `npm test` axe examines a third of the pages, each in the language and theme that the seed selects. */
const SHARES = 12;
/** A campaign examines each page in both themes; `npm test` divides the pages between the themes. */
const THEMES = FULL ? (["both"] as const) : (["light", "dark"] as const);
type Theme = (typeof THEMES)[number];

/** The looks of one page and of the next page, which begins with the last look of the first. */
function looksIn(theme: Theme): readonly [readonly AxeLook[], readonly AxeLook[]] {
  if (theme === "both") return [EVERY_LOOK, EVERY_LOOK.toReversed()];
  return [fewLooks(theme, 1440), fewLooks(theme, 390).toReversed()];
}
const HEIGHT = 900;

/** The languages of pages, by the browser's language. */
const LANGUAGES = [
  ["en-US", "en"],
  ["zh-CN", "zh-Hans"],
] as const;

/** Number of tabs that examine pages side by side; more tabs are not faster. */
const TABS = 3;

/** Opens a shop whose store has an entry in every list. */
async function openFilledShop(): Promise<{
  readonly shop: Shop;
  readonly ids: PortalIds;
  /** Pages whose content depends on their address, so that the table of routes does not list them. */
  readonly more: readonly PortalPage[];
}> {
  const shop = await openShop();
  const { control_token: token, store_id: storeId } = shop.sandbox.ready;
  const origin = new URL(shop.sandbox.ready.base_url).origin;
  const ask = async <Value>(path: string): Promise<Value> => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${origin}/__sandbox/stores/${storeId}${path}`, { headers });
    const { data } = (await answer.json()) as { readonly data: Value };
    return data;
  };
  const closed = ["http://127.0.0.1:9/hooks", `http://127.0.0.1:9/${"of-a-long-address/".repeat(4)}`];
  for (const url of closed) expect((await shop.command("endpoints", "add", url)).code).toBe(0);
  const sold = await shop.sell();
  await shop.sell({ description: "<b>夜の部</b> \u202e cab", payment_method: "wechat_pay" });
  const open = await shop.sell({ amount_minor: 100, currency: "EUR" });
  await shop.sell({ order_id: "order-1", amount_minor: 2999 }).catch(() => undefined);
  await shop.sell({ order_id: "long-".repeat(12), amount_minor: 0 }).catch(() => undefined);
  await shop.sell({ order_id: "long-".repeat(6) });
  const pays = [
    ["sandbox", "pay", sold.id, "--outcome", "succeeded"],
    ["faults", "add", "status", "--status", "500"],
  ];
  for (const line of pays) expect([line, (await shop.command(...line)).code]).toEqual([line, 0]);
  type Found<Name extends string> = Readonly<Record<Name, readonly Readonly<Record<string, string>>[]>>;
  const { deliveries } = await ask<Found<"deliveries">>("/deliveries");
  const { requests } = await ask<Found<"requests">>("/requests");
  const { endpoints } = await ask<Found<"endpoints">>("/endpoints");
  const { events } = await ask<Found<"events">>("/events");
  const ids = {
    store_id: storeId,
    portal: storeId,
    admin: storeId,
    anything: "start",
    checkouts: sold.id,
    deliveries: deliveries[0]?.["id"] ?? "",
    endpoints: endpoints[0]?.["id"] ?? "",
    events: events[0]?.["id"] ?? events[0]?.["event_id"] ?? "",
    requests: requests.at(-1)?.["request_id"] ?? "",
  };
  return {
    shop,
    ids,
    more: [
      ["an open checkout", `checkouts/${open.id}`],
      ["a search that finds several", "find?q=o"],
      ["a search that finds nothing", "find?q=nothing-has-this"],
      ["the form of a fault of v1", "faults?action=status"],
      ["the form of a fault of deliveries", "faults?action=delay"],
    ].map(([path = "", page]) => ({ path, role: "portal merchant", address: `/portal/${storeId}/${page}` })),
  };
}

/** A browser tab that examines pages, the number of its pages, and the addresses that are not examined again. */
type Tab = {
  readonly page: Page;
  readonly showAs: SetLook;
  pages: number;
  readonly seen: Set<string>;
};

type ThemedPage = { readonly shown: PortalPage; readonly theme: Theme };

/** The faults of a page in all its looks. */
async function faultsOf(
  tab: Tab,
  portal: string,
  { shown: { path, address }, theme }: ThemedPage,
): Promise<string[]> {
  const { page, showAs, seen } = tab;
  const looks = looksIn(theme)[tab.pages % 2 === 0 ? 0 : 1];
  for (const first of looks.slice(0, 1)) await showAs(first);
  const answer = await page.goto(address.replace(/^\/portal/, portal));
  const faults: string[] = (await page.evaluate<string[]>(RAW_MOMENTS)).map((one) => `${path}: ${one}`);
  const status = answer?.status() ?? 0;
  if (status !== 200) return [`${path}: ${status}`];
  // Several addresses lead to the first page of a store.
  if (seen.has(page.url())) return faults;
  seen.add(page.url());
  tab.pages += 1;
  await page.evaluate(`for (const one of document.querySelectorAll("details")) one.open = true`);
  for (const look of looks) {
    const { colorScheme, width, text, rules } = look;
    await showAs(look);
    const [excess, cut] = await page.evaluate<[number, string[]]>(`[${EXCESS}, ${CUT_TABLES}]`);
    const found = rules?.length === 0 ? [] : await axeFaults(page, rules === undefined ? {} : { rules });
    if (excess > 0) found.push(`is ${excess} px too wide`);
    found.push(...cut);
    const where = `${path}, ${colorScheme}, ${width} px, ${text}`;
    faults.push(...found.map((fault) => `${where}: ${fault}`));
  }
  const bytes = await firstPaintBytes(page, (await answer?.body()) ?? Buffer.alloc(0));
  if (bytes > MAX_FIRST_PAINT_BYTES) faults.push(`${path}: first paint takes ${bytes} bytes`);
  return faults;
}

/** The compressed bytes of a page with its styles and scripts, without SHARED_SCRIPT. */
async function firstPaintBytes(page: Page, body: Buffer): Promise<number> {
  const files = await page.evaluate<string[]>(
    `[...document.querySelectorAll("link[rel=stylesheet], script[src]")].map((one) => one.href || one.src)`,
  );
  const own = files.filter((file) => !SHARED_SCRIPT.test(file));
  const sizes = await Promise.all(own.map(async (file) => (await sizeOf(file)) ?? 0));
  return gzipSync(body).length + sizes.reduce((sum, one) => sum + one, 0);
}

const SIZES = new Map<string, Promise<number>>();

function sizeOf(file: string): Promise<number> | undefined {
  if (!SIZES.has(file)) {
    const fetched = fetch(file).then(async (answer) => gzipSync(await answer.bytes()).length);
    SIZES.set(file, fetched);
  }
  return SIZES.get(file);
}

test(`every page of the portal is accessible, fits the window and stays within its size limit, in both themes and languages (seed ${SEED})`, async () => {
  const { shop, ids, more } = await openFilledShop();
  // A saved story is left out: it is a download with the markup of its page.
  const pages = [...portalPages(PORTAL_AREA.routes, ids), ...more].filter(
    ({ path }) => !path.endsWith(".html"),
  );
  expect(pages.length).toBeGreaterThan(3);
  const seen = new Set<string>();
  const look = async ([locale, lang]: (typeof LANGUAGES)[number], place: number): Promise<string[]> => {
    const { page } = await openSignedIn(shop, { locale });
    await signInAdministrator(page.context(), shop.sandbox);
    const portal = shop.sandbox.ready.portal_url ?? "";
    const found: string[] = [];
    const pagesOfTabs = [page];
    while (pagesOfTabs.length < TABS) pagesOfTabs.push(await page.context().newPage());
    const tabs = pagesOfTabs.map((one): Tab => ({
      page: one,
      showAs: lookSetter(one, HEIGHT),
      pages: 0,
      seen,
    }));
    const own = THEMES.flatMap((theme, at) =>
      part(pages, SHARES, place * THEMES.length + at).map((shown): ThemedPage => ({
        shown,
        theme,
      })),
    );
    await sideBySide(own, tabs, async (next, tab) => {
      const faults = await faultsOf(tab, portal, next);
      found.push(...faults.map((fault) => `${locale} ${fault}`));
      expect([next.shown.path, await tab.page.getAttribute("html", "lang")]).toEqual([next.shown.path, lang]);
    });
    return found;
  };
  // The languages run one after the other, because together they would only share the processor.
  for (const [place, language] of LANGUAGES.entries()) {
    if (FULL) seen.clear();
    expect(await look(language, place)).toEqual([]);
  }
  expect(shop.complaints).toEqual([]);
});
