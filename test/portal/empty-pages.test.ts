import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PORTAL_AREA } from "../../src/sandbox/pages/portal/portal.ts";
import { createHarness } from "../support/harness.ts";
import { portalPages } from "../support/portal-addresses.ts";
import { signedIn } from "../support/portal.ts";
import { askPortal, portalHost, signIn } from "../support/portal-sign-in.ts";

const EMPTY_STORE = "0199a3c4-5d00-7000-8000-00000000000e";

/** A sandbox, and its pages as its merchant and its administrator see them. */
async function openPortal() {
  const harness = createHarness();
  const sandbox = await harness.start();
  const merchant = await signedIn(harness, sandbox);
  const { cookie } = await signIn(harness, sandbox, "administrator");
  const headers = { Authorization: "", Host: portalHost(sandbox), Cookie: cookie };
  const asAdministrator = async (path: string) => String((await askPortal(sandbox, { path, headers })).body);
  const asMerchant = async (path: string) => (await merchant.get(path)).html;
  return { harness, sandbox, merchant, asMerchant, asAdministrator };
}

type Opened = Awaited<ReturnType<typeof openPortal>>;

/** An empty list on a page. `helps`: whether the page has a button that fills the list. */
type EmptyList = { readonly page: string; readonly words: string; readonly helps: boolean };

/**
 * The empty lists of a page. A list helps if it or its section has a button; otherwise the main button of the page must
 * fill the list.
 */
function emptyLists(page: string, html: string): readonly EmptyList[] {
  const main = /<main.*<\/main>/s.exec(html)?.[0] ?? "";
  return Array.from(main.matchAll(/<div class="empty">.*?<\/div>/gs), ({ 0: list, index }) => {
    const before = main.lastIndexOf("<section", index);
    const isInside = before > main.lastIndexOf("</section>", index);
    const section = isInside ? main.slice(before, main.indexOf("</section>", index)) : list;
    const helps = [list, section].some((part) => /<form method="post"|<a class="primary"/.test(part));
    const words = list
      .replace(/<[^>]*>/g, " ")
      .replace(/\s+/g, " ")
      .trim();
    return { page, words, helps: helps || /<button type="submit" class="primary"/.test(main) };
  });
}

/** The empty lists of every page of a new store. */
async function listsOfFreshStore({ sandbox, asMerchant, asAdministrator }: Opened) {
  const none = { checkouts: "x", requests: "x", events: "x", deliveries: "x", endpoints: "x", anything: "x" };
  const ids = { store_id: sandbox.ready.store_id, ...none };
  const lists: EmptyList[] = [];
  for (const { path, role, address } of portalPages(PORTAL_AREA.routes, ids))
    lists.push(
      ...emptyLists(path, await (role === "portal administrator" ? asAdministrator : asMerchant)(address)),
    );
  return lists;
}

test("every empty list of a new store has a button that fills the list, in its section or on its page", async () => {
  const opened = await openPortal();
  const lists = await listsOfFreshStore(opened);
  const pages = lists.map(({ page }) => page.replace(/.*\}\//, ""));
  expect(pages).toEqual([
    "settings",
    "stores",
    "checkouts",
    "webhooks",
    "webhooks",
    "webhooks/events",
    "requests",
    "launch/assumptions",
    "/portal/admin/{store_id}",
  ]);
  expect(lists.filter(({ helps }) => !helps)).toEqual([]);
});

test("a store without prices and an event without deliveries each have a form or link that adds the first price or delivery", async () => {
  const { harness, merchant, asAdministrator, asMerchant } = await openPortal();
  const config = JSON.stringify({ stores: [{ id: EMPTY_STORE, name: "Empty Shop", prices: [] }] });
  writeFileSync(join(harness.cwd, "checkout.config.json"), config);
  expect((await harness.run(["config", "apply"])).code).toBe(0);
  const home = `/portal/${EMPTY_STORE}`;

  expect(await asAdministrator(`/portal/admin/${EMPTY_STORE}`)).toMatch(
    new RegExp(`<div class="empty">[^]*?<a class="primary" href="[^"]*${home}/catalog">`),
  );
  expect(emptyLists("catalog", await asMerchant(`${home}/catalog`))).toMatchObject([{ helps: true }]);

  await merchant.act(`${home}/checkouts/test-orders`);
  const [, event = ""] =
    /webhooks\/events\/([\w-]{36})/.exec(await asMerchant(`${home}/webhooks/events`)) ?? [];
  const address = `${home}/webhooks/events/${event}`;
  const undelivered = await asMerchant(address);
  expect(undelivered).toMatch(
    /<div class="empty">[^]*?<form method="post" action="[^"]*\/webhooks\/endpoints"/,
  );
  // Without an endpoint there is no form that delivers the event.
  expect(undelivered).not.toContain(`${event}/replay"`);

  await merchant.act(`${home}/webhooks/endpoints`, { url: "http://127.0.0.1:9/hooks" });
  const deliverable = await asMerchant(address);
  expect(deliverable).toMatch(
    new RegExp(`<div class="empty">[^]*?<form method="post" action="[^"]*${event}/replay"`),
  );
  expect((await merchant.act(`${address}/replay`, { endpoint_id: "" })).text).toContain("127.0.0.1:9");
  const delivered = await asMerchant(address);
  expect(emptyLists("event", delivered)).toEqual([]);
  expect(delivered).toContain(`${event}/replay"`);
});

test("a list without matches links to the unfiltered list", async () => {
  const { merchant, asMerchant } = await openPortal();
  const { home } = merchant;
  await merchant.act(`${home}/checkouts/test-orders`);
  for (const [list, filter] of [
    ["checkouts", "q=zzz"],
    ["requests", "q=zzz"],
    ["webhooks", "state=failed"],
  ] as const)
    expect(await asMerchant(`${home}/${list}?${filter}`)).toMatch(
      new RegExp(`<a class="plain" href="[^"]*${home}/${list}"`),
    );
  expect(await asMerchant(`${home}/overview`)).toMatch(
    new RegExp(`<a class="primary" href="[^"]*${home}/webhooks"`),
  );
});
