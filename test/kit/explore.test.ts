import { expect, onTestFinished, test } from "vitest";
import { API_ACTIONS, DELIVERY_ACTIONS, FAULT_ACTIONS } from "../../src/core/fault/actions.ts";
import { explore, startSandbox, type BrokenInvariant } from "../../src/testing/testing.ts";
import { FINDINGS } from "../support/broken.table.ts";
import { FULL, SEED, size } from "../support/campaign.ts";
import { drawDialect } from "../support/drawn-dialect.ts";
import { BROKEN_SHOPS, CAREFUL_SHOPS, optionsFor, type ExploreShop } from "../support/explore-shops.ts";
import { differenceFrom } from "../support/explored.ts";
import { EXPLAIN_SENTENCES } from "../../src/core/explain/sentences.ts";
import { inOrder } from "../support/in-order.ts";
import { JUDGED_INVARIANTS } from "../../src/core/readiness/drills/judged-invariants.ts";
import { NOT_JUDGED_REASONS } from "../../src/core/readiness/drills/judge-sentences.ts";
import { english } from "../../src/core/language.ts";

/** An endpoint that gets only payments has fewer places for faults, so that these explorations are small. */
const SMALL = { events: ["order.succeeded"] } as const;
const ORDER = {
  order_id: "order-1",
  amount_minor: 1999,
  currency: "EUR",
  payment_method: "alipay_plus",
} as const;
const LOST_AND_DOUBLED = [
  { action: "lose_answer", match: { method: "POST", path: "/v1/orders", nth: 1 } },
  { action: "latency", latencyMs: 1, match: { method: "POST", path: "/v1/orders", nth: 2 } },
  { action: "duplicate", match: { eventType: "order.succeeded", nth: 1 } },
] as const;

function shopOf(table: Readonly<Record<string, ExploreShop>>, name: string): ExploreShop {
  const shop = table[name];
  if (shop === undefined) throw new Error(`no shop ${name}`);
  return { ...shop, ...SMALL };
}

test("explore finds no broken rule in a careful shop, and reports broken shops with the smallest schedule and the cause", async () => {
  const careful = explore({
    ...optionsFor(shopOf(CAREFUL_SHOPS, "remembers the id of each event")),
    seed: "s",
    depth: 1,
  });
  const names = [
    "books each delivery",
    "sends a new key with each attempt",
    "answers 200 to unverified webhooks",
  ];
  const found = names.map(async (name) => {
    const result = await explore({ ...optionsFor(shopOf(BROKEN_SHOPS, name)), seed: "s", depth: 1 });
    return [name, result] as const;
  });
  for (const [name, result] of await Promise.all(found)) expect(differenceFrom(name, result)).toBeNull();
  const held = await careful;
  expect(held).toMatchObject({ schedules: FAULT_ACTIONS.length + 7, broken: [], seed: "s" });
  expect(held.held).toBe(held.schedules);
  expect(held.table.map(({ place, held: actions, notJudged }) => [place, actions.length, notJudged])).toEqual(
    [
      ["POST /v1/orders 1", API_ACTIONS.length, []],
      ["order.succeeded 1", DELIVERY_ACTIONS.length - 1, ["drop"]],
      ["payer", 6, []],
    ],
  );
  expect(held.notJudged.map(({ invariant }) => invariant)).toEqual(["recovery", "stays_up"]);
  expect(held.advice).toEqual([
    {
      faults: [{ action: "drop", match: { eventType: "order.succeeded", nth: 1 } }],
      text: expect.stringContaining("GET /v1/checkout-sessions/{id}") as string,
    },
  ]);
});

test("`returns` detects a page that trusts a customer's return, and `bookings` detects a second booking", async () => {
  const shop = optionsFor(shopOf(CAREFUL_SHOPS, "remembers the id of each event"));
  const visited = new Set<string>();
  const view = async (orderId: string, store: Parameters<typeof shop.view>[1]) =>
    visited.has(store.id) ? ("paid" as const) : shop.view(orderId, store);
  const believing = await explore({
    ...shop,
    view,
    returns: (_order, store) => visited.add(store.id),
    seed: "s",
    depth: 1,
    maxSchedules: 1,
  });
  expect(believing.broken.map(({ invariant }) => invariant)).toContain("never_unpaid");
  const bookings = async (orderId: string, store: Parameters<typeof shop.view>[1]) => {
    const shown = await shop.view(orderId, store);
    return typeof shown === "object" && shown.paid ? 2 : 0;
  };
  const twice = await explore({ ...shop, bookings, seed: "s", depth: 1, maxSchedules: 1 });
  expect(twice.broken.map(({ invariant }) => invariant)).toEqual(["booked_once"]);
  expect([twice.histories, twice.places]).toEqual([twice.schedules, twice.table.map(({ place }) => place)]);
});

test("explore runs a single schedule, shrinks it to the pair of faults that breaks the shop, and reports how to rerun it", async () => {
  const name = "books duplicates of an order that its second attempt created";
  const options = optionsFor(shopOf(BROKEN_SHOPS, name));
  const result = await explore({ ...options, seed: "s", only: { faults: LOST_AND_DOUBLED } });
  expect(differenceFrom(name, result)).toBeNull();
  expect([result.schedules, result.held]).toEqual([1, 0]);
  const [broken] = result.broken as [BrokenInvariant];
  expect(broken.faults).toEqual([LOST_AND_DOUBLED[0], LOST_AND_DOUBLED[2]]);
  expect(broken.text).toContain(english(JUDGED_INVARIANTS.booked_once.rule));
  expect(broken.story).toMatch(inOrder("(lose_answer)", EXPLAIN_SENTENCES.called.duplicate));
  const [, only = ""] = /^explore\(\{ purchase, view, only: (.*) \}\)$/.exec(broken.rerun) ?? [];
  const again = await explore({ ...options, seed: "s", only: JSON.parse(only) as object as never });
  expect(again.broken.map((one) => [one.faults, one.cause])).toEqual([[broken.faults, "books_again"]]);
});

test("explore with the same seed repeats the schedules, the ids and the result, and another seed gives other ids", async () => {
  const runs = await Promise.all(
    ["s", "s", "t"].map(async (seed) => {
      const sandbox = await startSandbox({ seed });
      onTestFinished(() => sandbox.close());
      const met: string[] = [];
      const result = await explore({
        sandbox,
        seed,
        depth: 1,
        purchase: async (store) => {
          const { status: _, ...order } = await store.orders.create(ORDER, {
            idempotencyKey: "purchase-order-1",
          });
          const faults = (await store.requests.list()).map(({ fault }) => fault?.action);
          met.push(`${order.id} ${faults.join(" ")}`);
          return { ...order, status: "created" };
        },
        view: async (_orderId, store) =>
          (await store.events.list({ type: "order.succeeded" })).length > 0 ? "paid" : "unpaid",
      });
      return { met: met.toSorted(), result };
    }),
  );
  const [first, second, other] = runs;
  expect(second).toEqual(first);
  expect(first?.met.length).toBeGreaterThan(15);
  expect(other?.met).not.toEqual(first?.met);
  const all = API_ACTIONS.length + 7;
  expect([first?.result.schedules, first?.result.held]).toEqual([all, all]);
  expect(first?.result.notJudged.map(({ invariant }) => invariant)).toEqual([
    "booked_once",
    "right_amount",
    "refuses_forged",
    "takes_events",
    "stays_up",
  ]);
  expect(first?.result.notJudged.slice(0, 2).map(({ reason }) => reason)).toEqual([
    english(NOT_JUDGED_REASONS.status_alone("amountMinor")),
    english(NOT_JUDGED_REASONS.status_alone("amountMinor")),
  ]);
});

test("stores of a seeded sandbox have the same ids, whether they are created concurrently or one by one", async () => {
  const [together, inTurn] = await Promise.all(
    ["together", "in turn"].map(async (order) => {
      const sandbox = await startSandbox({ seed: "s", port: null });
      onTestFinished(() => sandbox.close());
      const create = (): Promise<string> => sandbox.createStore().then(({ id }) => id);
      if (order === "together") return Promise.all([create(), create(), create()]);
      return [await create(), await create(), await create()];
    }),
  );
  expect(together).toEqual(inTurn);
});

test("explore refuses an application that fails without faults, and an invalid option", async () => {
  const works = optionsFor({});
  const fails = explore({ ...works, purchase: () => Promise.reject(new Error("no stock")) });
  await expect(fails).rejects.toThrow("no stock");
  const blind = explore({ ...works, view: () => Promise.reject(new Error("no such table")), seed: "s" });
  await expect(blind).rejects.toMatchObject({ cause: { message: "no such table" } });
  const idle = explore({ ...works, purchase: () => Promise.resolve({} as never) });
  await expect(idle).rejects.toThrow("purchase");
  await expect(explore({ ...works, depth: 9 })).rejects.toThrow(inOrder("depth ", " 1 ", " 4"));
  await expect(explore({ ...works, budget: 1 } as never)).rejects.toThrow('"budget"');
  const foreign = explore({ ...works, sandbox: {} as never });
  await expect(foreign).rejects.toThrow(inOrder(/^sandbox /, "startSandbox"));
});

test("broken.table.ts has a row for every broken shop of the kit", () => {
  expect(Object.keys(BROKEN_SHOPS)).toEqual(Object.keys(FINDINGS.explore));
});

const DIALECT = {
  headers: { signature: "X-Signature" },
  event_fields: { event_id: "id" },
  events: { "order.succeeded": "payment.paid" },
};
const IN_DIALECT = shopOf(CAREFUL_SHOPS, "remembers the id of each event");

test.each([DIALECT, ...Array.from({ length: size(0, 10) }, (_, at) => drawDialect(SEED + at))])(
  "explore finds no broken rule in a shop that reads the names of the dialect %j",
  async (dialect) => {
    const far = FULL ? { depth: 1 } : { only: { faults: [] } };
    const found = await explore({ ...optionsFor({ ...IN_DIALECT, dialect }), seed: "s", dialect, ...far });
    expect(found).toMatchObject({ held: found.schedules, broken: [] });
  },
);

test("explore names the dialect as the cause if the shop reads the default names", async () => {
  const { broken } = await explore({
    ...optionsFor(IN_DIALECT),
    seed: "s",
    dialect: DIALECT,
    only: { faults: [] },
  });
  expect(broken.map(({ text }) => text)).toEqual([
    expect.stringContaining(
      "Checkout-Signature → X-Signature, event_id → id, order.succeeded → payment.paid",
    ),
  ]);
});
