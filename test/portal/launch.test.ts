import { english } from "../../src/core/language.ts";
import { expect, test } from "vitest";
import { stepTitle } from "../../src/core/judge/histories/histories.ts";
import { CASE_NAMES } from "../../src/core/readiness/drills/webhook.ts";
import { CHECKLIST_ITEMS } from "../../src/core/readiness/names.ts";
import { openDrillSite } from "../support/drill-site.ts";
import { createHarness, EPHEMERAL, type Harness, type RunningSandbox } from "../support/harness.ts";
import { askPortal } from "../support/portal-sign-in.ts";
import { signedIn, textOf, type Page } from "../support/portal.ts";

async function openLaunch(harness: Harness, sandbox: RunningSandbox) {
  const portal = await signedIn(harness, sandbox);
  const at = `${portal.home}/launch`;
  return {
    portal,
    at,
    get: () => portal.get(at),
    act: (path: string, fields: Readonly<Record<string, string>> = {}) => portal.act(`${at}${path}`, fields),
    post: (path: string, fields: Readonly<Record<string, string>> = {}) =>
      portal.post(`${at}${path}`, fields),
  };
}

async function openPage() {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  return { harness, sandbox, ...(await openLaunch(harness, sandbox)) };
}

/** The page's text about an item of the checklist. */
function itemOf({ html }: Page, name: string): string {
  const [, item = ""] = new RegExp(`<li id="${name}"([\\s\\S]*?)</li>\\s*(<li id=|</ol>)`).exec(html) ?? [];
  return textOf(`<li ${item}`);
}

test("the Launch page has the items that the command checklist prints, and the next command of each open item", async () => {
  const { harness, get } = await openPage();
  const { stdout } = await harness.run(["checklist", "--json"]);
  const { items } = JSON.parse(stdout) as {
    readonly items: readonly {
      readonly name: string;
      title: string;
      status: string;
      reason: string;
      next: string;
    }[];
  };
  const page = await get();
  expect(items.map(({ name }) => name)).toEqual(CHECKLIST_ITEMS);
  for (const { name, title, status, reason, next } of items) {
    const shown = itemOf(page, name);
    expect(shown).toContain(`${title} ${status} ${reason}`);
    expect([name, shown.includes(next)]).toEqual([name, status !== "pass"]);
  }
  const passed = items.filter(({ status }) => status === "pass").length;
  expect(page.text).toContain(`Not ready ${passed} of ${items.length} items pass`);
});

test("the Launch page shows the last exploration with its counts, its age and a row for each place", async () => {
  const { sandbox, get } = await openPage();
  expect((await get()).text).not.toContain("Explored");
  const { store_id: storeId, control_token: token } = sandbox.ready;
  const places = [
    { place: "POST /v1/orders 1", held: ["reset", "status"], broken: ["kill"], not_judged: [] },
    { place: "order.succeeded 1", held: [], broken: [], not_judged: ["drop"] },
  ];
  const { status } = await sandbox.request({
    method: "POST",
    path: `/__sandbox/stores/${storeId}/explorations`,
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ schedules: 212, broken: 1, places }),
  });
  const { text } = await get();
  expect([status, text]).toEqual([
    200,
    expect.stringContaining("Explored: 212 schedules, 1 broken, 1 fault not judged just now"),
  ]);
  expect(text).toMatch(
    /Place Held Broken Not judged POST \/v1\/orders 1 .*2 .*kill .*order\.succeeded 1 .*0 .*drop/,
  );
});

test("the Launch page is available in Chinese", async () => {
  const { sandbox, portal, at } = await openPage();
  const headers = { Authorization: "", Host: portal.host, Cookie: portal.cookie, "Accept-Language": "zh" };
  const { body } = await askPortal(sandbox, { path: at, headers });
  expect(textOf(String(body))).toMatch(new RegExp(`${CHECKLIST_ITEMS.length} 项中 \\d 项通过`));
  expect(String(body)).toContain("没有登记返回地址，顾客支付后无法返回");
});

test("production access can be requested once, secrets in the note are hidden, and the item shows the request's age", async () => {
  const { harness, get, act, post } = await openPage();
  expect((await get()).text).toContain("Production access has not been requested yet");
  const page = await act("/production", { note: "launch on svc_test_0000000000000000000000000000000000" });
  expect(page.html).not.toContain("svc_test_0000");
  expect(page.text).toContain("The administrator has the request");
  harness.clock.advance(3 * 3_600_000);
  expect(itemOf(await get(), "production_credential")).toContain("3 h ago");
  expect((await post("/production")).status).toBe(409);
  await harness.run(["admin", "approve-credential"]);
  await harness.run(["admin", "open-gate"]);
  expect((await get()).text).toContain(
    "The production gate of this sandbox is open, so there is nothing to request",
  );
  expect((await get()).html).not.toContain("/launch/production");
});

test("a drill can be skipped with a reason for 7 days, and its item shows the skipped drill as a risk", async () => {
  const { harness, get, act, post } = await openPage();
  await harness.run(["return-origins", "add", "https://shop.example"]);
  const page = await act("/waivers", { drill: "browser_return", reason: "no return page" });
  expect(itemOf(page, "return_origins")).toMatch(/pass .*Risk: .*no return page/);
  expect(page.text).toContain("no return page · until 2026-01-22 12:00:00");
  expect(page.html).not.toContain('name="drill" value="browser_return"');
  expect(page.html).toContain('name="drill" value="duplicates"');
  expect((await post("/waivers", { drill: "browser_return", reason: "" })).status).toBe(400);
  expect((await post("/waivers", { drill: "everything", reason: "why not" })).status).toBe(400);
  harness.clock.advance(8 * 24 * 3_600_000);
  expect((await get()).text).not.toContain("no return page");
  expect((await get()).html).toContain('name="drill" value="browser_return"');
});

test("the Launch page shows the webhook drill's steps, verdict, causes and command, and keeps the last result if the receiver is down", async () => {
  const site = await openDrillSite();
  await site.orderAccepted();
  const { get } = await openLaunch(site.harness, site.sandbox());
  expect((await get()).text).toContain("checkout checklist run");
  await site.drill();
  const page = await get();
  for (const name of CASE_NAMES) expect(page.text).toContain(`ok ${english(stepTitle("webhook", name))}`);
  expect(itemOf(page, "webhook_verification")).toMatch(/passed localhost:3000\/hooks ?: (\d+) of \1 steps/);

  site.listen(() => 204);
  await site.drill();
  const failed = await get();
  expect(itemOf(failed, "webhook_verification")).toContain("fail");
  expect(failed.text).toContain("The receiver answers 2xx to everything");
  expect(itemOf(failed, "webhook_verification")).toMatch(/failed localhost:3000\/hooks ?: \d+ of \d+ steps/);
  const [, steps = ""] = /<details class="result">([^]*?)<\/details>\s*<\/details>/.exec(failed.html) ?? [];
  expect(textOf(steps)).toMatch(/failed .* Steps that passed: \d+/);
  const causes = [...steps.matchAll(/<summary><strong>(\d+) steps failed:<\/strong> (.*?)<\/summary>/g)];
  expect(causes.map(([, count]) => Number(count) > 3)).toContain(true);
  for (const [, , cause = ""] of causes) expect(steps.split(cause)).toHaveLength(2);
  expect(failed.text).not.toMatch(/[\da-f]{8}-[\da-f]{4}-7/);
  site.harness.vacate(3000);
  await site.drill();
  expect(itemOf(await get(), "webhook_verification")).toContain("fail");
});

test("the Launch page shows a webhook drill while it runs", async () => {
  const site = await openDrillSite();
  const { get } = await openLaunch(site.harness, site.sandbox());
  const pages: string[] = [];
  site.harness.vacate(3000);
  site.harness.occupy(3000, {
    answer: async () => {
      if (pages.length === 0) pages.push((await get()).text);
      return { status: 204, headers: {}, body: "" };
    },
    refuse: () => ({ status: 400, headers: {}, body: "" }),
  });
  await site.drill();
  expect(pages[0]).toContain("Checklist running started");
  expect((await get()).text).not.toContain("Checklist running");
});

test("the Launch page says that webhooks are held while a duplicates drill runs", async () => {
  const { sandbox, get } = await openPage();
  const { control_token: token } = sandbox.ready;
  const control = async <Data>(path: string, body: object): Promise<Data> => {
    const answer = await sandbox.request({
      path: `/__sandbox/stores/default${path}`,
      headers: { Authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
    return (JSON.parse(String(answer.body)) as { data: Data }).data;
  };
  type Lease = { id: string };
  const other = await control<Lease>("/leases", { drill: "duplicates", timeout_ms: 60_000 });
  expect((await get()).text).toContain("The webhooks of this store are held until the drill ends.");
  await control(`/leases/${other.id}/end`, {});
  expect((await get()).text).not.toContain("The webhooks of this store are held");
});

test("the Launch page counts the assumptions that the store relies on, and its page of assumptions lists them", async () => {
  const { harness, get, portal, at } = await openPage();
  expect((await portal.get(`${at}/assumptions`)).text).toContain("checkout assumptions --used");
  await harness.run(["orders", "create", "--order-id", "order-1~succeeded", "--price-id", "price_coffee"]);
  // The command waits until all records are written; the page shows the records so far.
  await harness.run(["assumptions"]);
  expect((await get()).text).toMatch(/Assumptions that this store relies on: [2-9]/);
  const { text } = await portal.get(`${at}/assumptions`);
  expect(text).toContain("7 · price_id");
  expect(text).toContain("37 · Reserved order_ids");
});
