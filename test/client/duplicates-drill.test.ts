import { isDeepStrictEqual } from "node:util";
import { english, type Words } from "../../src/core/language.ts";
import { expect, test } from "vitest";
import {
  DUPLICATES_CAUSES,
  type DuplicatesCause,
} from "../../src/core/readiness/drills/duplicates-causes.ts";
import { DUPLICATE_SENDS } from "../../src/core/readiness/drills/duplicates.ts";
import { BROKEN, UNSEEN } from "../support/broken.table.ts";
import { FULL, part } from "../support/campaign.ts";
import { drillInMemory } from "../support/duplicates-in-memory.ts";
import { eventually } from "../support/eventually.ts";
import {
  BROKEN_SHOPS,
  GOOD_SHOPS,
  openOrderShop,
  UNSEEN_SHOPS,
  type ShopPlan,
} from "../support/order-shops.ts";
import { EPHEMERAL } from "../support/harness.ts";
import { openWebhookSite } from "../support/webhook-site.ts";
import type { WireAnswerOf } from "../support/wire.ts";
import type { DrillStep } from "../../src/core/readiness/drill-shapes.ts";

type Report = {
  readonly verdict: string;
  readonly drill_id: string | null;
  readonly steps: readonly DrillStep[];
};

const DRILL = "checklist run duplicates";
const VIEW = ["--order-view", "http://localhost:3000/orders/{order_id}", "--paid-when", "\\bpaid\\b"];

async function openSite(plan: ShopPlan) {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = openOrderShop(site, plan);
  const hooks = await site.addEndpoint("http://localhost:3000/hooks");
  const drill = async (args: readonly string[] = VIEW): Promise<Report & { readonly code: number }> => {
    const line = [...DRILL.split(" "), ...args, "--json"];
    const { code, stdout, stderr } = await site.harness.run(line);
    expect(stderr).toBe("");
    return { code, ...(JSON.parse(stdout) as Report) };
  };
  const kept = async () =>
    (await site.control<WireAnswerOf<"listDrills">>("/drills?kind=duplicates")).data.drills;
  return { ...site, shop, hooks, drill, kept };
}

/** The causes of the steps that did not pass, each once. */
function causesOf({ steps }: Pick<Report, "steps">): DuplicatesCause[] {
  const codes = Object.entries(DUPLICATES_CAUSES) as [DuplicatesCause, Words][];
  const failed = new Set(steps.filter(({ passed }) => !passed).map(({ cause }) => cause));
  return codes.filter(([, sentence]) => failed.has(english(sentence))).map(([code]) => code);
}

/** How a drill of a broken shop ends: a shop that books nothing has not shown what it does. */
function expectedOf(name: string) {
  const causes = BROKEN.duplicates[name];
  const isOpen = ["never_paid", "view_unreadable"].some((cause) => isDeepStrictEqual(causes, [cause]));
  return { verdict: isOpen ? "unknown" : "failed", causes };
}

/** Waits that go on side by side add up on the clock of a harness, so that a memory ends sooner there than in memory. */
const TIMELY: Readonly<Record<string, readonly DuplicatesCause[]>> = {
  "knows an event for 30 s": ["forgets_in_time"],
};

/** The verdict and the causes of a drill without a sandbox. */
async function judged(plan: ShopPlan) {
  const drill = await drillInMemory(plan);
  return { drill, shown: { verdict: drill.verdict, causes: causesOf(drill) } };
}

test("every good shop passes", async () => {
  for (const [name, plan] of Object.entries(GOOD_SHOPS)) {
    const { drill, shown } = await judged(plan);
    expect([name, shown]).toEqual([name, { verdict: "passed", causes: [] }]);
    const isLimited = drill.steps.some(({ name: step }) => step === "rate_limited");
    expect([name, isLimited]).toEqual([name, plan.perSecond !== undefined]);
  }
});

test("every broken shop is told its causes and no others", async () => {
  const found: [string, unknown][] = [];
  for (const [name, plan] of Object.entries(BROKEN_SHOPS)) found.push([name, (await judged(plan)).shown]);
  expect(found).toEqual(
    Object.keys(BROKEN_SHOPS).map((name) => {
      const { verdict, causes } = expectedOf(name);
      return [name, { verdict, causes: TIMELY[name] ?? causes }];
    }),
  );
});

test("shops that the drill cannot see pass", async () => {
  for (const [name, plan] of Object.entries(UNSEEN_SHOPS)) {
    const { shown } = await judged(plan);
    expect([name, shown]).toEqual([name, { verdict: "passed", causes: [] }]);
  }
});

// The same shops beside a sandbox, by the command: its deliveries, its record and its exit code.
for (const [name, plan] of part(Object.entries(GOOD_SHOPS), 12))
  test(`beside a sandbox, good shop: ${name}`, async () => {
    const site = await openSite(plan);
    const report = await site.drill();
    expect([causesOf(report), report.code, report.verdict]).toEqual([[], 0, "passed"]);
    expect(await site.kept()).toMatchObject([
      { id: report.drill_id, passed: true, subject: `${site.hooks.id} ${site.hooks.url}` },
    ]);
    // What the drill held back is delivered afterwards, as ever; what a limit refuses then comes again in its own time.
    if (plan.perSecond !== undefined) return;
    await eventually("every webhook is delivered", async () =>
      expect(await site.deliveries("?state=due")).toEqual([]),
    );
  });

for (const [name, plan] of part(Object.entries(BROKEN_SHOPS), 24))
  test(`beside a sandbox, broken shop: ${name}`, async () => {
    const { verdict, causes } = expectedOf(name);
    const site = await openSite(plan);
    const report = await site.drill();
    const code = verdict === "unknown" ? 3 : 1;
    expect([report.code, report.verdict, causesOf(report)]).toEqual([code, verdict, causes]);
    const kept = verdict === "unknown" ? [] : [{ id: report.drill_id, passed: false }];
    expect(await site.kept()).toMatchObject(kept);
  });

test("the table has every shop, and no other", () => {
  expect(Object.keys(BROKEN_SHOPS)).toEqual(Object.keys(BROKEN.duplicates));
  expect(Object.keys(UNSEEN_SHOPS)).toEqual(Object.keys(UNSEEN.duplicates));
});

const right: ShopPlan = { onEvent: ({ payment, paid, book }) => void (payment && !paid && book()) };

test("each event is sent as a delivery of it: the same bytes, a signature of now, no row", async () => {
  const site = await openSite(GOOD_SHOPS["keeps the event ids"] ?? right);
  const { steps } = await site.drill();
  const first = site.shop.got.find(({ type, verified }) => type === "order.succeeded" && verified);
  const { order_id: paid } = (
    JSON.parse(first?.body ?? "") as { readonly data: { readonly order_id: string } }
  ).data;
  const sent = site.shop.got.filter(({ body }) => body.includes(`"${paid}"`)).slice(0, 9);
  const types = [
    "succeeded",
    "succeeded",
    "created",
    "pending",
    "succeeded",
    "created",
    "succeeded",
    // With another id in its header.
    "succeeded",
    "succeeded",
  ];
  expect(sent.map(({ type, verified }) => [type, verified])).toEqual(
    types.map((type, at) => [`order.${type}`, at !== 7]),
  );
  expect(new Set(sent.map(({ body }) => body)).size).toBe(3);
  const stored = new Map((await site.events()).map(({ event_id: id, body }) => [id, body]));
  for (const { id, body } of sent) expect([id, body]).toEqual([id, stored.get(id)]);
  const references = steps.map(({ reference }) => reference);
  expect(references).toEqual(expect.arrayContaining(sent.map(({ id }) => id)));
  expect(steps.find(({ name }) => name === "at_once")?.expected).toBe("paid, once");
  // A payment is forged for each order that nobody pays, under an id that no event has.
  const refused = site.shop.got.filter(({ verified }) => !verified);
  const forged = refused.filter(({ body }) => ![...stored.values()].includes(body));
  expect(forged.map(({ id }) => stored.get(id))).toEqual(Array.from({ length: 6 }, () => undefined));
  // A payment of each kind came with another id in its header.
  expect(refused.length - forged.length).toBe(2);
  // After them the service's own deliveries come, of each event once.
  await eventually("the service delivers too", async () =>
    expect((await site.deliveries()).map(({ state, tries }) => [state, tries])).toEqual(
      Array.from(stored, () => ["succeeded", 1]),
    ),
  );
});

test("of each step is said what is expected", async () => {
  const site = await openSite(GOOD_SHOPS["keeps a payment until the creation has come"] ?? right);
  const { steps } = await site.drill();
  const ofOrders = steps.filter(({ name }) => Object.hasOwn(DUPLICATE_SENDS, name));
  expect(ofOrders.map(({ name, expected }) => [name, expected])).toEqual([
    ["payment_first", "paid, now or after the other events"],
    ["payment_again", "paid, now or after the other events"],
    ["created_late", "2xx"],
    ["pending_late", "2xx, still paid"],
    ["payment_after_late", "2xx, paid, and the view unchanged"],
    ["created_again", "2xx, paid, and the view unchanged"],
    ["payment_last", "2xx, paid, and the view unchanged"],
    ["after_others", "2xx, paid, and the view unchanged"],
    ["at_once", "paid, once"],
    ["after_a_while", "2xx, paid, and the view unchanged"],
  ]);
});

test("without a view, or with one that cannot be relied on, nothing is proven and nothing is kept", async () => {
  const view = VIEW.slice(0, 2);
  const rows: readonly (readonly [args: readonly string[], causes: DuplicatesCause[]])[] = [
    [[], []],
    [[...view, "--paid-when", "."], ["paid_from_the_start"]],
    [[...view, "--paid-when", "PAID"], ["never_paid"]],
    [["--order-view", "http://localhost:3999/{session_id}", "--paid-when", "paid"], ["view_unreadable"]],
  ];
  for (const [args, causes] of rows) {
    const site = await openSite(BROKEN_SHOPS["books each delivery"] ?? right);
    const report = await site.drill(args);
    expect([args, report.code, report.verdict, causesOf(report)]).toEqual([args, 3, "unknown", causes]);
    expect([report.drill_id, await site.kept()]).toEqual([null, []]);
  }
  const site = await openSite(right);
  const { stdout } = await site.harness.run(DRILL.split(" "));
  expect(stdout).toContain("→ add --order-view URL, or --order-view-command CMD, and --paid-when REGEX");
});

test("a view that changes without a pattern, or an endpoint that is down, is unknown", async () => {
  let reads = 0;
  const restless = await openSite({
    ...right,
    show: ({ status }) => `${status} ${"x ".repeat((reads += 1))}`,
  });
  const report = await restless.drill();
  expect([report.code, causesOf(report), await restless.kept()]).toEqual([3, ["view_restless"], []]);
  const down = await openSite(right);
  down.shop.goDown();
  const dead = await down.drill();
  expect([dead.code, causesOf(dead), await down.kept()]).toEqual([3, ["out_of_reach"], []]);
});

/** An order of the shop's own, of whose creation it has heard. */
async function orderKnown(site: Awaited<ReturnType<typeof openSite>>): Promise<string> {
  const id = await site.order("order-7");
  await eventually("the shop knows the order", () => expect(site.shop.got).toHaveLength(1));
  return id;
}

/** What asks v1 about the order at each reading, whatever the shop has stored. */
const PROXY: ShopPlan = {
  onEvent: ({ payment, order }) => void (payment && (order.bookings += 1)),
  onView: async (_session, { ask, order }) =>
    void (order.status = (await ask()) === "succeeded" ? "paid" : "open"),
  show: ({ status }) => status,
};

test("a view that asks the service, and not the shop, proves nothing", async () => {
  const proxy = await openSite(PROXY);
  const known = await orderKnown(proxy);
  const shown = await proxy.drill([...VIEW, "--checkout", known]);
  expect([shown.code, causesOf(shown), await proxy.kept()]).toEqual([3, ["view_of_service"], []]);
  // A command of this program.
  const site = await openSite(BROKEN_SHOPS["books each delivery"] ?? right);
  site.harness.setShell(async ({ env }) => {
    const words = ["sessions", "get", env["CHECKOUT_SESSION_ID"] ?? "", "--json"];
    const { code, stdout, stderr } = await site.harness.run(words);
    return { ending: "exited", exitCode: code, stdout, stderr };
  });
  const view = 'checkout sessions get "$CHECKOUT_SESSION_ID" --json';
  const told = await site.drill(["--order-view-command", view, "--paid-when", "succeeded"]);
  expect([told.code, causesOf(told), await site.kept()]).toEqual([3, ["view_of_service"], []]);
});

/** How long a queue takes, in milliseconds. */
const DELAYS = FULL ? Array.from({ length: 15 }, (_, at) => (at + 1) * 1000) : [1000, 4000, 9000, 15_000];

test("who books each delivery is found out, however long a queue takes, and who books once is not", async () => {
  for (const delay of DELAYS) {
    const twice = await judged({
      onEvent: ({ payment, book, later }) => void (payment && later(delay, book)),
    });
    expect([delay, twice.shown]).toEqual([delay, { verdict: "failed", causes: ["books_again"] }]);
    const once = await judged({
      onEvent: ({ payment, order, book, later }) =>
        void (payment && later(delay, () => void (order.status === "paid" || book()))),
    });
    expect([delay, once.shown]).toEqual([delay, { verdict: "passed", causes: [] }]);
  }
});

test("a view of the status alone cannot show a second booking, which is said", async () => {
  for (const [show, names] of [
    [({ status }: { readonly status: string }) => status, ["status_alone"]],
    [undefined, []],
  ] as const) {
    const site = await openSite({ ...right, ...(show === undefined ? {} : { show }) });
    const { code, steps } = await site.drill();
    expect([code, steps.flatMap(({ name, cause }) => (cause === null ? [] : [name]))]).toEqual([0, names]);
  }
});

test("with --restart a payment comes again after it, and a memory of the process is found out", async () => {
  const known = new Set<string>();
  const once: ShopPlan = {
    onEvent: ({ id, payment, book }) => {
      if (known.has(id)) return;
      known.add(id);
      if (payment) book();
    },
  };
  const exited = { ending: "exited", exitCode: 0, stdout: "", stderr: "" } as const;
  const site = await openSite(once);
  const restarting = async (act: () => void) => {
    site.harness.setShell(() => {
      act();
      return Promise.resolve(exited);
    });
    const { code, steps, ...report } = await site.drill([...VIEW, "--restart", "restart-shop"]);
    return [code, causesOf({ steps, ...report }), steps.some(({ name }) => name === "after_restart")];
  };
  expect(await restarting(() => undefined)).toEqual([0, [], true]);
  expect(await restarting(() => known.clear())).toEqual([1, ["forgets_at_restart"], true]);
  expect(await restarting(() => site.shop.orders.clear())).toEqual([1, ["forgets_at_restart"], true]);
  expect(site.harness.commands.at(-1)?.env).toMatchObject({ CHECKOUT_CONTROL_TOKEN: undefined });
  site.harness.setShell(() => Promise.resolve({ ...exited, exitCode: 2, stderr: "no such service\n" }));
  const { code, stderr } = await site.harness.run([
    ...DRILL.split(" "),
    ...VIEW,
    "--restart",
    "restart-shop",
  ]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("the command ended with 2: no such service")]);
});

test("a view that shows another order's payment proves nothing", async () => {
  let isAnyPaid = false;
  const mixed = await openSite({
    onEvent: ({ payment }) => void (isAnyPaid ||= payment),
    show: () => (isAnyPaid ? "paid" : "open"),
  });
  const shown = await mixed.drill();
  expect([shown.code, causesOf(shown), await mixed.kept()]).toEqual([3, ["paid_in_the_end"], []]);
});

test("a shop that asks the API by itself, and keeps the answer, passes with an order of its own too", async () => {
  const site = await openSite(GOOD_SHOPS["asks the API when its view is asked for"] ?? right);
  const id = await orderKnown(site);
  const report = await site.drill([...VIEW, "--checkout", id]);
  expect([report.code, causesOf(report)]).toEqual([0, []]);
  const step = report.steps.find(({ name }) => name === "before_its_events");
  expect(step?.got).toContain("(it has asked the API)");
});

test("a payment that is forged for an order of the shop's own is seen too", async () => {
  const site = await openSite({
    onEvent: ({ payment, paid, book }) => void (paid || !payment || book()),
    believes: () => true,
  });
  const id = await orderKnown(site);
  const report = await site.drill([...VIEW, "--checkout", id]);
  expect([report.code, causesOf(report), await site.statusOf(id)]).toEqual([
    1,
    ["books_unverified"],
    "created",
  ]);
  expect(await site.kept()).toMatchObject([{ passed: false }]);
});

test("of a view that begins to change and does not come to rest nothing can be told", async () => {
  const site = await openSite({
    onEvent: ({ payment, book, later }) => {
      if (payment) for (let second = 0; second < 8; second += 1) later(second * 1000, book);
    },
  });
  const report = await site.drill();
  expect([report.code, report.verdict, causesOf(report)]).toEqual([3, "unknown", ["view_restless"]]);
});

test("each of two endpoints gets what it wants, and both are what was drilled", async () => {
  const site = await openSite(right);
  const other = site.receiver(3001);
  const added = await site.addEndpoint(other.url, ["order.succeeded"]);
  const { verdict, steps } = await site.drill();
  expect(verdict).toBe("passed");
  expect(other.got.slice(0, 5).map(({ event }) => event.type)).toEqual(
    Array.from({ length: 5 }, () => "order.succeeded"),
  );
  const { id, url } = site.hooks;
  expect((await site.kept())[0]?.subject).toBe(`${id} ${url}\n${added.id} ${added.url}`);
  other.answers = () => 500;
  const failed = await site.drill();
  expect([failed.verdict, causesOf(failed)]).toEqual(["failed", ["refuses_duplicate"]]);
  expect(failed.steps).toHaveLength(steps.length);
  const again = failed.steps.find(({ name }) => name === "payment_again");
  expect(again?.got).toContain("answered 200 and 500");
});

test("an endpoint that does not get payments, or none at all, is said", async () => {
  const site = await openSite(right);
  await site.harness.run(["endpoints", "remove", site.hooks.id]);
  const none = await site.harness.run([...DRILL.split(" "), ...VIEW]);
  expect([none.code, none.stderr]).toEqual([5, expect.stringContaining("checkout endpoints add")]);
  await site.addEndpoint("http://localhost:3000/hooks", ["order.created"]);
  const report = await site.drill();
  expect([report.code, report.verdict, causesOf(report)[0]]).toEqual([3, "unknown", "no_endpoint"]);
});

test("endpoints that change during the drill make it show nothing", async () => {
  const site = await openSite(right);
  site.shop.onHook(async (count) => {
    if (count === 2) await site.addEndpoint("http://localhost:3001/hooks");
  });
  const { code, stderr } = await site.harness.run([...DRILL.split(" "), ...VIEW]);
  expect([code, stderr]).toEqual([5, expect.stringContaining("the endpoints changed during the drill")]);
  expect(await site.kept()).toEqual([]);
});

test("what it holds back is shown with its name", async () => {
  const site = await openSite(right);
  const reasons: (string | null)[] = [];
  site.shop.onHook(async (count) => {
    if (count === 1) reasons.push((await site.endpoint(site.hooks.id)).reason);
  });
  await site.drill();
  expect(reasons).toEqual(["checkout checklist run duplicates holds its events back"]);
});

test("events are sent under the lease of a drill of duplicates alone", async () => {
  const site = await openSite(right);
  await site.order();
  const [event] = await site.events();
  const unknown = "00000000-0000-7000-8000-000000000000";
  const sent = await site.control("/drills/duplicates/deliver", {
    lease_id: unknown,
    event_id: event?.event_id,
  });
  expect(sent.error?.code).toBe("not_found");
  const body = { lease_id: unknown, subject: "", steps: [] };
  expect((await site.control("/drills/duplicates", body)).ok).toBe(false);
  expect(await site.kept()).toEqual([]);
});

test("a shop that makes its orders itself names one of them; it has heard of its creation", async () => {
  const site = await openSite({
    ...right,
    onEvent: ({ paid, payment, book }) => void (paid || !payment || book()),
  });
  const id = await site.order("order-7");
  expect((await site.drill([...VIEW, "--checkout", id])).verdict).toBe("passed");
  const again = await site.harness.run([...DRILL.split(" "), ...VIEW, "--checkout", id]);
  expect([again.code, again.stderr]).toEqual([5, expect.stringContaining("succeeded")]);
});

test("what is shown to people names each step and each cause", async () => {
  const site = await openSite(BROKEN_SHOPS["books each delivery"] ?? right);
  const { code, stdout } = await site.harness.run([...DRILL.split(" "), ...VIEW]);
  expect(code).toBe(1);
  expect(stdout).toContain(
    "✗ your shop wrongly books or refuses events that are duplicated, late, simultaneous, forged or without a",
  );
  expect(stdout).toContain(english(DUPLICATES_CAUSES.books_again));
  const checklist = await site.harness.run(["checklist", "--item", "webhook_verification"]);
  expect(checklist.stdout).toContain("the drill of duplicates failed: 18 of 28 steps");
});
