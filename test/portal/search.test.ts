import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { english } from "../../src/core/language.ts";
import { CHECKOUTS_TEXTS } from "../../src/sandbox/pages/portal/checkout/texts.ts";
import { COMMON_TEXTS, FRAME_TEXTS } from "../../src/sandbox/pages/portal/texts.ts";
import { createHarness } from "../support/harness.ts";
import { signedIn, type Page, type Portal } from "../support/portal.ts";

const { nothingFound, refusedOrders, searched: searchedText } = CHECKOUTS_TEXTS;

/** A store with orders for tea, two orders that were only refused, and two endpoints. */
async function openShop() {
  const harness = createHarness();
  const sandbox = await harness.start();
  const portal = await signedIn(harness, sandbox);
  let keys = 0;
  const create = async (body: object): Promise<string> => {
    const headers = { "Idempotency-Key": `key-number-${(keys += 1)}` };
    const answer = await sandbox.request({ path: "/v1/orders", headers, body: JSON.stringify(body) });
    const { data } = JSON.parse(String(answer.body)) as { data?: { id: string } };
    return data?.id ?? "";
  };
  const terms = { amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };
  const ids = {
    green: await create({
      ...terms,
      order_id: "Cart-2201-green",
      description: "Sencha of the first harvest",
    }),
    black: await create({ ...terms, order_id: "Cart-2202-black", description: "Assam" }),
  };
  await create({ ...terms, order_id: "Cart-9999-refused", currency: "XXX" });
  await create({ ...terms, order_id: "Cart-9999-refused", currency: "YYY" });
  await create({ ...terms, order_id: "lone-refused", currency: "XXX" });
  // One create of this order was refused too, but the order has a checkout.
  await create({ ...terms, order_id: "Cart-2202-black", amount_minor: 1 });
  for (const port of [3000, 3001])
    await harness.run(["endpoints", "add", `http://localhost:${port}/hooks-of-port-${port}`]);
  const find = (text: string): Promise<Page> =>
    portal.get(`${portal.home}/find?${new URLSearchParams({ q: text }).toString()}`);
  return { harness, sandbox, portal, ids, find, create, terms };
}

/** The headings of a page and the links below each. */
function kindsOn({ html }: Page, { home }: Portal): Readonly<Record<string, readonly string[]>> {
  const sections = html.matchAll(/<section class="found">\s*<h2>(.*?)<\/h2>(.*?)<\/section>/gs);
  return Object.fromEntries(
    [...sections].map(([, title = "", list = ""]) => [
      title,
      [...list.matchAll(/href="([^"]+)"/g)].map(([, to = ""]) =>
        to.replace(home, "").replaceAll("&amp;", "&"),
      ),
    ]),
  );
}

test("a search in the portal for any part of an order_id, description, address or type opens the only result", async () => {
  const { portal, ids, find } = await openShop();
  for (const [text, page] of [
    ["2201", `/checkouts/${ids.green}`],
    ["2201-GREEN", `/checkouts/${ids.green}`],
    ["first harv", `/checkouts/${ids.green}`],
    ["ssam", `/checkouts/${ids.black}`],
    [ids.green, `/checkouts/${ids.green}`],
    ["9999", "/requests?q=Cart-9999-refused"],
    ["port-3001", /^\/webhooks\/endpoints\/[0-9a-f-]{36}$/],
    ["lone-ref", /^\/requests\/[0-9a-f-]{36}$/],
    ["order.cre", "/webhooks?type=order.created"],
  ] as const) {
    const { location = "" } = await find(text);
    const to = location.replace(portal.home, "");
    expect([text, to]).toEqual([text, typeof page === "string" ? page : expect.stringMatching(page)]);
    const { status } = await portal.get(location);
    expect([text, status]).toEqual([text, 200]);
  }
});

test("search results are listed by kind, and a text without results is shown escaped", async () => {
  const { portal, ids, find } = await openShop();
  const carts = await find("cart-");
  expect(carts.status).toBe(200);
  expect(kindsOn(carts, portal)).toEqual({
    [english(FRAME_TEXTS.checkouts)]: [`/checkouts/${ids.black}`, `/checkouts/${ids.green}`],
    [english(refusedOrders)]: ["/requests?q=Cart-9999-refused"],
  });
  expect(carts.text).toContain("capability_missing × 2");
  const hooks = await find("hooks");
  expect(kindsOn(hooks, portal)).toMatchObject({
    [english(COMMON_TEXTS.endpoints)]: [expect.anything(), expect.anything()],
  });
  const nothing = await find("<script>nothing</script>");
  expect([nothing.status, nothing.text.includes(english(nothingFound))]).toEqual([200, true]);
  expect(nothing.html).not.toContain("<script>nothing");
  await portal.post("/portal/preferences", { language: "zh", back: portal.home });
  expect((await find("cart-")).text).toContain(refusedOrders[1]);
});

test("an order_id whose creates were all refused links to its requests, without circular links", async () => {
  const { portal, ids } = await openShop();
  const requests = await portal.get(`${portal.home}/requests`);
  const links = [...requests.html.matchAll(/href="([^"]*(?:checkouts|requests\?q)[^"]*)"/g)].map(
    ([, to = ""]) => to.replace(portal.home, ""),
  );
  expect(links).toContain(`/checkouts/${ids.black}`);
  expect(links).toContain("/requests?q=lone-refused");
  expect(links.filter((to) => to.startsWith("/checkouts?q"))).toEqual([]);
  const lone = await portal.get(`${portal.home}/requests?q=lone-refused`);
  const [, rows = ""] = /<tbody>(.*?)<\/tbody>/s.exec(lone.html) ?? [];
  expect(rows).not.toContain("requests?q=");
  const [, request = ""] = /href="([^"]+\/requests\/[0-9a-f-]{36})"/.exec(rows) ?? [];
  expect((await portal.get(request)).html).not.toContain("/checkouts?q");
});

test("orders list --search and open find the same orders as the portal's search", async () => {
  const { harness, portal, ids } = await openShop();
  const { stdout } = await harness.run(["orders", "list", "--search", "CART-"]);
  expect(stdout).toMatch(/Cart-2202-black.*\n.*Cart-2201-green/);
  expect(stdout).toMatch(
    /\n.* 2 .*Cart-9999-refused.*403 capability_missing.*checkout explain [0-9a-f-]{36}\n$/,
  );
  const searched = await harness.run(["orders", "list", "--search", "harvest", "--json"]);
  expect(JSON.parse(searched.stdout)).toMatchObject({
    checkouts: [{ id: ids.green }],
    refused: [],
    next_before: null,
  });
  const lone = await harness.run(["orders", "list", "--search", "lone", "--json"]);
  expect(JSON.parse(lone.stdout)).toMatchObject({
    checkouts: [],
    refused: [{ order_id: "lone-refused", count: 1 }],
  });
  const plain = await harness.run(["orders", "list", "--json"]);
  expect(JSON.parse(plain.stdout)).toMatchObject({ refused: [] });
  const opened = await harness.run(["open", "2201-gr", "--print"]);
  const to = new URL(opened.stdout.trim()).searchParams.get("to") ?? "";
  const anywhere = await portal.get(to.replace(/^\/portal\/k-[^/]+/, "/portal"));
  expect((await portal.get(anywhere.location ?? "")).location).toBe(`${portal.home}/checkouts/${ids.green}`);
});

test("an order refused after a search is found by the next search, until a reset", async () => {
  const { harness, portal, find, create, terms } = await openShop();
  const refused = async (): Promise<readonly string[]> => {
    const kinds = Object.entries(kindsOn(await find("refused"), portal));
    return kinds.flatMap(([title, found]) => (title === english(refusedOrders) ? found : []));
  };
  expect(await refused()).toHaveLength(2);
  await create({ ...terms, order_id: 'late-"ÄPFEL"-refused', currency: "XXX" });
  expect(await refused()).toHaveLength(3);
  await create({ ...terms, order_id: "a checkout" });
  expect((await find('"äpfel"')).location).toMatch(/\/requests\/[0-9a-f-]{36}$/);
  expect((await harness.run(["sandbox", "reset", "--yes"])).code).toBe(0);
  expect((await find("refused")).text).toContain(english(nothingFound));
  await create({ ...terms, order_id: "refused-again", currency: "XXX" });
  expect((await find("refused")).location).toMatch(/\/requests\/[0-9a-f-]{36}$/);
});

test("a search of a large store says where it stopped and how to continue, and always finds a complete order_id", async () => {
  const { harness, portal, sandbox, ids, find } = await openShop();
  const file = new Database(join(harness.cwd, ".checkout/sandbox.db"));
  onTestFinished(() => void file.close());
  const insert = file.prepare(
    `INSERT INTO checkouts (id, store_id, object, order_id, amount_minor, currency, payment_method, description,
       status, created_at, expires_at)
     VALUES (?, ?, 'order', ?, 450, 'EUR', 'alipay_plus', NULL, 'succeeded', 1768478400000, 9000000000000)`,
  );
  file.transaction(() => {
    for (let number = 0; number < 20_000; number += 1) {
      const id = `0199a3c4-5d00-7000-8000-${String(number).padStart(12, "0")}`;
      insert.run(id, sandbox.ready.store_id, `many-${number}`);
    }
  })();
  const stopped = await find("first harv");
  expect(stopped.text).toContain(`${english(searchedText(20_000))} 2026-01-15 12:00:00`);
  const [, on = ""] = /href="([^"]+\/checkouts\?[^"]+)" rel="next">/.exec(stopped.html) ?? [];
  expect((await portal.get(on.replaceAll("&amp;", "&"))).html).toContain(`/checkouts/${ids.green}"`);
  expect((await find("Cart-2201-green")).location).toBe(`${portal.home}/checkouts/${ids.green}`);
  const { stdout } = await harness.run(["orders", "list", "--search", "harv", "--json"]);
  expect(JSON.parse(stdout)).toMatchObject({
    checkouts: [],
    searched: 20_000,
    searched_back_to: "2026-01-15T12:00:00.000Z",
  });
  expect((await find("many-1")).location).toMatch(/\/checkouts\/0199a3c4-5d00-7000-8000-0{11}1$/);
});
