import { english } from "../../src/core/language.ts";
import { expect, test } from "vitest";
import { DUPLICATES_CAUSES } from "../../src/core/readiness/drills/duplicates-causes.ts";
import { eventually } from "../support/eventually.ts";
import { openShopOn, rightBooks, SHOP, waitingPage } from "../support/harness-shop.ts";
import { right } from "../support/merchant-receivers.ts";
import { installClient, rightClient } from "../support/shop-clients.ts";
import { EPHEMERAL } from "../support/harness.ts";
import { openWebhookSite } from "../support/webhook-site.ts";
import type { WireAnswerOf } from "../support/wire.ts";
import type { Checklist } from "../../src/core/readiness/shapes.ts";
import type { DrillStep } from "../../src/core/readiness/drill-shapes.ts";

type Report = { readonly verdict: string; readonly steps: readonly DrillStep[] };
type Item = Checklist["items"][number];

const VIEW = ["--order-view", SHOP.orderView, "--paid-when", "\\bpaid\\b"];
const DUPLICATES = ["checklist", "run", "duplicates", ...VIEW];
/** What else makes a store ready, by what is typed. */
const OTHERS = [
  "return-origins add https://shop.example",
  "checklist run idempotency --client-command client",
  `checklist run webhooks --order-view ${SHOP.orderView}`,
  `checklist run browser-return --return-url ${SHOP.returnUrl} --order-view ${SHOP.orderView} --paid-when paid --create client`,
  "production request",
  "admin approve-credential",
  "admin open-gate",
].map((line) => `${line} --json`.split(" "));

/** A right shop, for which these lines were typed; with all others its store lacks the drill of duplicates alone. */
async function openSite(typed: readonly (readonly string[])[] = []) {
  const site = await openWebhookSite(EPHEMERAL);
  const { harness } = site;
  const added = await harness.run(["endpoints", "add", SHOP.hooks, "--json"]);
  const { signing_secret: secret } = JSON.parse(added.stdout) as { readonly signing_secret: string };
  openShopOn(
    harness,
    { receiver: right, books: rightBooks, page: waitingPage },
    { secret: () => secret, statusOf: site.statusOf },
  );
  installClient(harness, rightClient);
  await site.order("order-0");
  await eventually("the shop knows an order", async () =>
    expect((await site.deliveries("?state=succeeded")).length).toBeGreaterThan(0),
  );
  for (const line of typed) expect([line, (await harness.run(line)).code]).toEqual([line, 0]);
  const drill = async (args: readonly string[]): Promise<Report & { readonly code: number }> => {
    const { code, stdout, stderr } = await harness.run([...DUPLICATES, ...args, "--json"]);
    expect(stderr).toBe("");
    return { code, ...(JSON.parse(stdout) as Report) };
  };
  /** The exit code of the checklist, and what its item of webhooks leaves open. */
  const check = async () => {
    const { code, stdout } = await harness.run(["checklist", "--json"]);
    const { verdict, items } = JSON.parse(stdout) as { readonly verdict: string; readonly items: Item[] };
    const item = items.find(({ name }) => name === "webhook_verification");
    return { code, verdict, risks: item?.assumptions ?? [] };
  };
  return { ...site, drill, check };
}

/** What a drill that passed leaves open: each such step by its name. */
function leftOpen({ steps }: Report): readonly string[] {
  return steps.flatMap(({ name, passed, cause }) => (passed && cause !== null ? [name] : []));
}

test("with its own orders everything is drilled and the store is ready; --quick leaves out the wait of 30 s, and says so as a risk", async () => {
  const site = await openSite(OTHERS);
  const before = site.harness.clock.now();
  const whole = await site.drill([]);
  const wholeMs = site.harness.clock.now() - before;
  expect([whole.code, leftOpen(whole)]).toEqual([0, []]);
  expect(await site.check()).toEqual({ code: 0, verdict: "ready", risks: [] });
  const report = await site.drill(["--quick"]);
  expect([report.code, leftOpen(report)]).toEqual([0, ["quick"]]);
  expect(report.steps.map(({ name }) => name)).not.toContain("after_a_while");
  expect(site.harness.clock.now() - before - wholeMs).toBeLessThan(wholeMs);
  expect(await site.check()).toEqual({
    code: 3,
    verdict: "ready_with_risks",
    risks: [expect.stringContaining("--quick")],
  });
});

test("with fewer checkouts the paid path is drilled first, and what was not is named as a risk", async () => {
  const site = await openSite(OTHERS);
  const one = await site.drill(["--checkout", await site.order("order-1")]);
  expect([one.code, leftOpen(one)]).toEqual([0, ["not_drilled", "one_kind"]]);
  expect(one.steps.map(({ name }) => name)).toContain("payment_last");
  const { code, risks } = await site.check();
  expect([code, risks]).toEqual([3, [expect.stringContaining("of orders: a payment that fails")]]);
  const ids = [await site.order("order-2"), await site.order("order-3")];
  const two = await site.drill(ids.flatMap((id) => ["--checkout", id]));
  expect(two.steps.map(({ name }) => name)).toContain("payment_failed");
  expect((await site.check()).risks).toEqual([expect.not.stringContaining("a payment that fails") as string]);
  const five = Array.from({ length: 5 }, (_one, at) => `order-1${at}`);
  for (const id of five) await site.order(id);
  const all = await site.drill(five.flatMap((id) => ["--checkout", id]));
  expect([all.code, leftOpen(all)]).toEqual([0, ["one_kind"]]);
  expect(await site.check()).toEqual({ code: 0, verdict: "ready", risks: [] });
});

test("what a drill creates is marked as its own, and decides neither a risk nor what is relied on", async () => {
  const site = await openSite();
  type Requests = WireAnswerOf<"listRequests">["requests"];
  const creates = async (query: string): Promise<Requests> =>
    (
      await site.control<WireAnswerOf<"listRequests">>(
        `/requests?method=POST&path=/v1/checkout-sessions${query}`,
      )
    ).data.requests;
  const back = ["checklist", "run", "browser-return", "--return-url", SHOP.returnUrl, ...VIEW];
  expect((await site.harness.run(back)).code).toBe(0);
  expect((await creates("")).map(({ by_drill: byDrill }) => byDrill)).toEqual([true, true, true]);
  expect(await creates("&by=merchant")).toEqual([]);
  const one = await site.drill(["--checkout", await site.order("order-1")]);
  expect([one.code, leftOpen(one)]).toEqual([0, ["not_drilled", "one_kind"]]);
  // The shop's own.
  const body = { order_id: "SO-2026-001", price_id: "price_coffee" };
  const headers = { "Idempotency-Key": "key-of-a-session" };
  await site.sandbox().request({ path: "/v1/checkout-sessions", headers, body: JSON.stringify(body) });
  expect((await creates("&by=merchant")).map(({ order_id: orderId }) => orderId)).toEqual([body.order_id]);
  const two = await site.drill(["--checkout", await site.order("order-2")]);
  expect([two.code, leftOpen(two)]).toEqual([0, ["not_drilled", "only_one_kind"]]);
});

test("orders that a drill makes look like the merchant's", async () => {
  const site = await openSite();
  const body = { order_id: "SO-2026-0019", price_id: "price_coffee" };
  const headers = { "Idempotency-Key": "key-of-an-order" };
  await site.sandbox().request({ path: "/v1/orders", headers, body: JSON.stringify(body) });
  await site.drill(["--quick"]);
  const query = "/requests?method=POST&status=201";
  const { requests } = (await site.control<WireAnswerOf<"listRequests">>(query)).data;
  const made = requests.filter(({ by_drill: byDrill }) => byDrill).map(({ order_id: orderId }) => orderId);
  expect(new Set(made).size).toBe(10);
  for (const orderId of made) expect(orderId).toMatch(/^SO-\d{4}-\d{4}$/);
});

test("--create lets the shop make each order, which is found in the store, and sees no token", async () => {
  const site = await openSite();
  const before = site.harness.commands.length;
  const report = await site.drill(["--create", "create"]);
  expect([report.code, leftOpen(report)]).toEqual([0, ["one_kind"]]);
  const made = site.harness.commands.slice(before);
  expect(made.map(({ commandLine }) => commandLine)).toEqual(Array.from({ length: 5 }, () => "create"));
  expect(new Set(made.map(({ env }) => env["CHECKOUT_ORDER_ID"])).size).toBe(5);
  for (const { env } of made)
    expect([env["CHECKOUT_CONTROL_TOKEN"], env["CHECKOUT_ADMIN_TOKEN"]]).toEqual([undefined, undefined]);
  site.harness.setShell(() =>
    Promise.resolve({ ending: "exited", exitCode: 1, stdout: "", stderr: "no database\n" }),
  );
  const failed = await site.harness.run([...DUPLICATES, "--create", "create"]);
  expect([failed.code, failed.stderr]).toEqual([
    1,
    expect.stringContaining("ended with 1 and did not create an order or session with CHECKOUT_ORDER_ID"),
  ]);
  expect(failed.stderr).toContain("no database");
});

test("a shop that knows its own orders alone is told within 2 s to name them", async () => {
  const site = await openSite();
  site.harness.vacate(3000);
  const missing = { status: 404, headers: {}, body: "" };
  site.harness.occupy(3000, { answer: () => Promise.resolve(missing), refuse: () => missing });
  const before = site.harness.clock.now();
  const report = await site.drill([]);
  expect(site.harness.clock.now() - before).toBeLessThan(2000);
  const causes = new Set(report.steps.flatMap(({ cause }) => (cause === null ? [] : [cause])));
  expect([report.code, [...causes]]).toEqual([3, [english(DUPLICATES_CAUSES.order_unknown)]]);
  expect(english(DUPLICATES_CAUSES.order_unknown)).toContain("--checkout ID");
});

test("how long it takes, and how much of that it waits, is said before, and is so", async () => {
  const site = await openSite();
  // Of one kind: the World's clock lets waits for two orders come one after the other.
  for (const args of [
    ["--create", "create"],
    ["--create", "create", "--quick"],
    ["--checkout", await site.order("order-1")],
  ]) {
    const before = site.harness.clock.now();
    const { stderr } = await site.harness.run([...DUPLICATES, ...args]);
    const tookMs = site.harness.clock.now() - before;
    const [, total, waits] = /^about (\d+) s, including (\d+) s of waiting\n$/.exec(stderr) ?? [];
    expect([args, Number(total)]).toEqual([args, Number(waits) + 5]);
    // Nothing but waits passes time here.
    expect([args, tookMs / 1000 - Number(waits)]).toEqual([args, 0]);
  }
});

test("a right shop with a rate limit is ready, also where one drill follows the other at once", async () => {
  const site = await openSite(OTHERS);
  const { harness } = site;
  const shop = harness.programOn(3000);
  if (shop === undefined) throw new Error("no shop");
  const limit = { count: 5, inMs: 1000 };
  const times: number[] = [];
  let refused = 0;
  harness.occupy(3000, {
    ...shop,
    answer: (request) => {
      const now = harness.clock.now();
      if (times.filter((time) => time > now - limit.inMs).length < limit.count) {
        times.push(now);
        return shop.answer(request);
      }
      refused += 1;
      return Promise.resolve({ status: 429, headers: {}, body: "" });
    },
  });
  const report = await site.drill([]);
  expect([report.code, leftOpen(report)]).toEqual([0, ["rate_limited"]]);
  // What the drill held back comes at once, and most of it is refused.
  refused = 0;
  const back = ["checklist", "run", "browser-return", "--return-url", SHOP.returnUrl, ...VIEW];
  const { code, stdout } = await harness.run(back);
  expect([code, stdout]).toEqual([0, expect.not.stringContaining("✗")]);
  expect(refused).toBeGreaterThan(10);
  expect((await site.check()).code).toBe(0);
});
