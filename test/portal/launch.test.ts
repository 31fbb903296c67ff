import { expect, test } from "vitest";
import { stepTitle } from "../../src/core/judge/histories/histories.ts";
import { ASSUMPTIONS } from "../../src/core/calibration/assumptions.ts";
import { ageText } from "../../src/core/explain/last.ts";
import { english } from "../../src/core/language.ts";
import { READINESS_SENTENCES } from "../../src/core/readiness/sentences.ts";
import { englishOf, factOf } from "../../src/core/readiness/drills/said.ts";
import { LAUNCH_TEXTS } from "../../src/sandbox/pages/portal/readiness/texts.ts";
import { inOrder } from "../support/in-order.ts";
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
      status: keyof typeof LAUNCH_TEXTS.status;
      reason: string;
      next: string;
    }[];
  };
  const page = await get();
  expect(items.map(({ name }) => name)).toEqual(CHECKLIST_ITEMS);
  for (const { name, title, status, reason, next } of items) {
    const shown = itemOf(page, name);
    expect(shown).toContain(`${title} ${english(LAUNCH_TEXTS.status[status])} ${reason}`);
    expect([name, shown.includes(next)]).toEqual([name, status !== "pass"]);
  }
  const passed = items.filter(({ status }) => status === "pass").length;
  expect(page.text).toContain(
    `${english(READINESS_SENTENCES.verdict.not_ready)} ${english(LAUNCH_TEXTS.passed(passed, items.length))}`,
  );
});

test("the Launch page shows the last exploration with its counts, its age and a row for each place", async () => {
  const { sandbox, get } = await openPage();
  expect((await get()).text).not.toContain(english(LAUNCH_TEXTS.place));
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
  const explored = english(READINESS_SENTENCES.explored(212, 1, 1));
  expect([status, text]).toEqual([200, expect.stringContaining(`${explored} ${ageText(0, english)}`)]);
  const { place, held, broke, notJudged } = LAUNCH_TEXTS;
  const rows = ["POST /v1/orders 1", "2", "kill", "order.succeeded 1", "0", "drop"];
  expect(text).toMatch(inOrder(place, held, broke, notJudged, ...rows));
});

test("the Launch page is available in Chinese", async () => {
  const { sandbox, portal, at } = await openPage();
  const headers = { Authorization: "", Host: portal.host, Cookie: portal.cookie, "Accept-Language": "zh" };
  const { body } = await askPortal(sandbox, { path: at, headers });
  const passed = Array.from(CHECKLIST_ITEMS, (_, count) =>
    LAUNCH_TEXTS.passed(count, CHECKLIST_ITEMS.length),
  );
  expect(passed.filter(([, chinese]) => textOf(String(body)).includes(chinese))).toHaveLength(1);
  expect(String(body)).toContain(READINESS_SENTENCES.noOrigin[1]);
});

test("production access can be requested once, secrets in the note are hidden, and the item shows the request's age", async () => {
  const { harness, get, act, post } = await openPage();
  expect((await get()).text).toContain(english(LAUNCH_TEXTS.notRequested));
  const page = await act("/production", { note: "launch on svc_test_0000000000000000000000000000000000" });
  expect(page.html).not.toContain("svc_test_0000");
  expect(page.text).toContain(english(LAUNCH_TEXTS.withAdministrator));
  harness.clock.advance(3 * 3_600_000);
  expect(itemOf(await get(), "production_credential")).toContain(ageText(3 * 3_600_000, english));
  expect((await post("/production")).status).toBe(409);
  await harness.run(["admin", "approve-credential"]);
  await harness.run(["admin", "open-gate"]);
  expect((await get()).text).toContain(english(LAUNCH_TEXTS.nothingLeft));
  expect((await get()).html).not.toContain("/launch/production");
});

test("a drill can be skipped with a reason for 7 days, and its item shows the skipped drill as a risk", async () => {
  const { harness, get, act, post } = await openPage();
  await harness.run(["return-origins", "add", "https://shop.example"]);
  const page = await act("/waivers", { drill: "browser_return", reason: "no return page" });
  expect(itemOf(page, "return_origins")).toMatch(
    inOrder(LAUNCH_TEXTS.status.pass, LAUNCH_TEXTS.risk, "no return page"),
  );
  expect(page.text).toContain(`no return page · ${english(LAUNCH_TEXTS.skippedUntil)} 2026-01-22 12:00:00`);
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
  const steps = CASE_NAMES.length;
  for (const name of CASE_NAMES)
    expect(page.text).toContain(`${english(LAUNCH_TEXTS.ok)} ${english(stepTitle("webhook", name))}`);
  expect(itemOf(page, "webhook_verification")).toMatch(
    inOrder(`${english(LAUNCH_TEXTS.drillPassed)} localhost:3000/hooks`, LAUNCH_TEXTS.steps(steps, steps)),
  );

  site.listen(() => 204);
  await site.drill();
  const failed = await get();
  expect(itemOf(failed, "webhook_verification")).toContain(english(LAUNCH_TEXTS.status.fail));
  expect(failed.text).toContain(englishOf(factOf("takes_all")));
  const [, shown = ""] = /<details class="result">([^]*?)<\/details>\s*<\/details>/.exec(failed.html) ?? [];
  const causes = [...shown.matchAll(/<summary><strong>(\D*(\d+).*?)<\/strong> (.*?)<\/summary>/g)];
  expect(causes.map(([, , count]) => Number(count) > 3)).toContain(true);
  for (const [, text, count, cause = ""] of causes) {
    expect(text).toBe(english(LAUNCH_TEXTS.failedSteps(Number(count))));
    expect(shown.split(cause)).toHaveLength(2);
  }
  expect(failed.text).not.toMatch(/[\da-f]{8}-[\da-f]{4}-7/);
  site.harness.vacate(3000);
  await site.drill();
  expect(itemOf(await get(), "webhook_verification")).toContain(english(LAUNCH_TEXTS.status.fail));
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
  const { checklist, running, started } = LAUNCH_TEXTS;
  expect(pages[0]).toContain([checklist, running, started].map(english).join(" "));
  expect((await get()).text).not.toContain(`${english(checklist)} ${english(running)}`);
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
  expect((await get()).text).toContain(english(LAUNCH_TEXTS.heldBack));
  await control(`/leases/${other.id}/end`, {});
  expect((await get()).text).not.toContain(english(LAUNCH_TEXTS.heldBack));
});

test("the Launch page counts the assumptions that the store relies on, and its page of assumptions lists them", async () => {
  const { harness, get, portal, at } = await openPage();
  expect((await portal.get(`${at}/assumptions`)).text).toContain("checkout assumptions --used");
  await harness.run(["orders", "create", "--order-id", "order-1~succeeded", "--price-id", "price_coffee"]);
  // The command waits until all records are written; the page shows the records so far.
  await harness.run(["assumptions"]);
  const { text } = await portal.get(`${at}/assumptions`);
  const used = ASSUMPTIONS.filter(({ decision, title }) => text.includes(`${decision} · ${english(title)}`));
  expect(used.map(({ decision }) => decision)).toEqual(expect.arrayContaining([7, 37]));
  expect((await get()).text).toContain(english(LAUNCH_TEXTS.assumptionsCount(used.length)));
});
