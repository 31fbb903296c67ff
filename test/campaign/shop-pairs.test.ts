import { expect, test } from "vitest";
import type { ItemName } from "../../src/core/readiness/names.ts";
import { BROKEN_RECEIVERS } from "../support/broken-receivers.ts";
import { SEED, seededRandom, size, report } from "../support/campaign.ts";
import { openDrawnShop, type DrawnParts } from "../support/drawn-shop.ts";
import { eventually } from "../support/eventually.ts";
import { GOOD_RECEIVERS } from "../support/good-receivers.ts";
import {
  orderShopOf,
  RIGHT_SHOP_PARTS,
  WRONG_SHOP_PARTS,
  type OrderShopParts,
} from "../support/order-shop-parts.ts";
import type { ShopPlan } from "../support/order-shops.ts";
import { BROKEN_PAGES, GOOD_PAGES } from "../support/return-shops.ts";
import {
  BROKEN_CLIENTS,
  clientOf,
  GOOD_CLIENTS,
  installClient,
  RIGHT_PARTS,
  rightClient,
  type Client,
  type Parts,
} from "../support/shop-clients.ts";
import { EPHEMERAL } from "../support/harness.ts";
import { openWebhookSite } from "../support/webhook-site.ts";
import type { Checklist } from "../../src/core/readiness/shapes.ts";

/** The fields of the printed checklist that this test reads. */
type Report = Pick<Checklist, "verdict" | "items">;
type Named<Value> = readonly [name: string, value: Value];
/** A shop and its client, each part with its name. */
type Shop = { readonly [Name in keyof DrawnParts]: Named<DrawnParts[Name]> } & {
  readonly client: Named<Client>;
};
type Slot = keyof Shop;

const SHOP = "http://localhost:3000";
const VIEW = `--order-view ${SHOP}/orders/{order_id}`;
/** A complete description of the shop; `--settle` is long for receivers that take only a few requests per second. */
const WHOLE = String.raw`${VIEW} --paid-when \bpaid\b --bookings (?:ings":|ed\s|,\s)(\d+) --create client --settle 60s`;
const BEFORE = [
  `endpoints add ${SHOP}/hooks`,
  "return-origins add https://shop.example",
  "production request",
  "admin approve-credential",
  "admin open-gate",
];
/** The drill for each part, and the item that stays open while the part is wrong. */
const DRILLS: Readonly<Record<Slot, readonly [line: string, item: ItemName]>> = {
  client: ["idempotency --client-command client", "idempotency_replay"],
  plan: [`duplicates ${WHOLE}`, "webhook_verification"],
  page: [`browser-return --return-url ${SHOP}/thanks ${WHOLE}`, "return_origins"],
  receiver: [`webhooks ${VIEW}`, "webhook_verification"],
};
/** The slots of 20 changes. Clients change most often: their drill takes a tenth of the duplicates drill's time. */
const SLOTS: readonly Slot[] = [
  ...Array<Slot>(11).fill("client"),
  ...Array<Slot>(6).fill("receiver"),
  ...Array<Slot>(2).fill("page"),
  "plan",
];
/**
 * The number of changed parts in one store, of stores in one test, and of tests. Each test continues the random draws
 * of the previous test.
 */
const CHANGES = size(6, 50);
const STORES = size(1, 10);
const TESTS = size(1, 10);

const random = seededRandom(SEED);

function oneOf<One>(rows: readonly One[]): One {
  const row = rows[Math.floor(random() * rows.length)];
  if (row === undefined) throw new Error("a table has a row");
  return row;
}

/** Draws the rows of a table in random order, each once before any is repeated. */
function inTurn<One>(rows: readonly One[]): () => One {
  let left: One[] = [];
  return () => {
    if (left.length === 0) left = [...rows];
    const [row] = left.splice(Math.floor(random() * left.length), 1);
    if (row === undefined) throw new Error("a table has a row");
    return row;
  };
}

function drawPlan(wrong?: WrongPlan): Named<ShopPlan> {
  const parts = {
    isNew: oneOf(RIGHT_SHOP_PARTS.isNew),
    books: oneOf(RIGHT_SHOP_PARTS.books),
    others: oneOf(RIGHT_SHOP_PARTS.others),
    answers: oneOf(RIGHT_SHOP_PARTS.answers),
    shows: oneOf(RIGHT_SHOP_PARTS.shows),
    ...wrong,
  };
  const { isNew, books, others, answers, shows } = parts;
  const names = Object.entries(parts).map(([name, [value]]) => `${name} ${value}`);
  const plan = orderShopOf({
    isNew: isNew[1],
    books: books[1],
    others: others[1],
    answers: answers[1],
    refuses: {},
    shows: shows[1],
  });
  return [names.join(", "), plan];
}

type WrongPlan = { readonly [Name in "isNew" | "others" | "answers"]?: Named<OrderShopParts[Name]> };

const wrongPlan = inTurn<WrongPlan>([
  ...WRONG_SHOP_PARTS.isNew.map((isNew) => ({ isNew })),
  ...WRONG_SHOP_PARTS.others.map((others) => ({ others })),
  ...WRONG_SHOP_PARTS.answers.map((answers) => ({ answers })),
]);

function drawClient(): Named<Client> {
  const parts: { readonly [Name in keyof Parts]: Named<Parts[Name]> } = {
    keyOf: oneOf(RIGHT_PARTS.keyOf),
    after: oneOf(RIGHT_PARTS.after),
    tries: oneOf(RIGHT_PARTS.tries),
    waits: oneOf(RIGHT_PARTS.waits),
    afterwards: oneOf(RIGHT_PARTS.afterwards),
    ends: oneOf(RIGHT_PARTS.ends),
  };
  const { keyOf, after, tries, waits, afterwards, ends } = parts;
  const client = clientOf({
    keyOf: keyOf[1],
    after: after[1],
    tries: tries[1],
    waits: waits[1],
    afterwards: afterwards[1],
    ends: ends[1],
  });
  return [
    Object.entries(parts)
      .map(([name, [value]]) => `${name} ${value}`)
      .join(", "),
    client,
  ];
}

const clients = (rows: typeof GOOD_CLIENTS) =>
  inTurn(rows.map(({ name, client }): Named<Client> => [name, client]));
const receivers = (rows: readonly (typeof BROKEN_RECEIVERS)[number][]) => {
  const draw = inTurn(rows);
  return (): Shop["receiver"] => {
    const { name, make } = draw();
    return [name, make()];
  };
};
const goodClient = clients(GOOD_CLIENTS);
const RIGHT: { readonly [Name in Slot]: () => Shop[Name] } = {
  client: () => (random() < 0.2 ? goodClient() : drawClient()),
  plan: drawPlan,
  page: inTurn(Object.entries(GOOD_PAGES)),
  // Slow receivers are left out: while they work, the clock also advances for other drills, which outlast their leases.
  receiver: receivers(GOOD_RECEIVERS.filter(({ name }) => !name.startsWith("slow: "))),
};
const WRONG: { readonly [Name in Slot]: () => Shop[Name] } = {
  client: clients(BROKEN_CLIENTS),
  plan: () => drawPlan(wrongPlan()),
  page: inTurn(Object.entries(BROKEN_PAGES)),
  receiver: receivers(BROKEN_RECEIVERS),
};

/** Opens a store that lacks only the drills, and a shop of correct parts; `judge` drills the shop. */
async function openStore() {
  const site = await openWebhookSite(EPHEMERAL);
  const { harness } = site;
  const run = (line: string) => harness.run([...line.split(" "), "--json"]);
  // Correct clients of one store share a disk, because a counter that restarts would reuse a key.
  const disk = new Map<string, string>();
  let secret = "";
  for (const line of BEFORE) {
    const { code, stdout, stderr } = await run(line);
    expect([line, code, stderr]).toEqual([line, 0, ""]);
    secret = /"signing_secret":"([^"]+)"/.exec(stdout)?.[1] ?? secret;
  }
  const open = openDrawnShop(site, secret);
  let shop: Shop = {
    client: ["a random key, stored for each order", rightClient],
    plan: RIGHT.plan(),
    page: RIGHT.page(),
    receiver: RIGHT.receiver(),
  };
  /** Replaces parts of the shop and drills it; returns the differences from the expected checklist. */
  const judge = async (slot: Slot, parts: Partial<Shop>, isRight: boolean): Promise<string[]> => {
    shop = { ...shop, ...parts };
    const { receiver, plan, page, client } = shop;
    installClient(harness, client[1], isRight ? disk : new Map());
    open({ receiver: receiver[1], plan: plan[1], page: page[1] });
    const [line, item] = DRILLS[slot];
    const { code, stderr } = await run(`checklist run ${line}`);
    const { stdout } = await run("checklist");
    const { verdict, items } = JSON.parse(stdout) as Report;
    const left = items.filter((one) => one.status !== "pass" || one.assumptions.length > 0);
    const found = `drill ${code}${stderr}, ${verdict}, open: ${left.map(({ name }) => name).join(" ")}`;
    const wanted = isRight ? "drill 0, ready, open: " : `drill 1, not_ready, open: ${item}`;
    if (found === wanted) return [];
    const named = Object.entries(shop).map(([name, [value]]) => `${name}: ${value}`);
    const reasons = left.map(({ name, reason }) => `${name}: ${reason}`).join("; ");
    return [`${named.join("; ")}: ${found}, and not ${wanted} (${reasons})`];
  };
  return { ...site, judge };
}

for (let number = 1; number <= TESTS; number += 1)
  test(`the checklist is ready for a shop of correct parts, and not ready for a shop with one wrong part (${number} of ${TESTS})`, async ({
    annotate,
  }) => {
    const wrong: string[] = [];
    const judged = { right: 0, wrong: 0 };
    for (let store = 0; store < STORES; store += 1) {
      const { judge, deliveries, stop } = await openStore();
      await judge("client", {}, true);
      // The webhook drill needs an order that the receiver knows.
      await eventually("the receiver was told of the order", async () =>
        expect((await deliveries("?state=succeeded")).length).toBeGreaterThan(0),
      );
      await judge("plan", {}, true);
      await judge("page", {}, true);
      wrong.push(...(await judge("receiver", {}, true)));
      for (let change = 0; change < CHANGES; change += 1) {
        const slot = oneOf(SLOTS);
        const found = [
          ...(await judge(slot, { [slot]: WRONG[slot]() }, false)),
          ...(await judge(slot, { [slot]: RIGHT[slot]() }, true)),
        ];
        report(found);
        wrong.push(...found);
        judged.wrong += 1;
        judged.right += 1;
      }
      await stop();
    }
    expect(wrong, `seed ${SEED}`).toEqual([]);
    await annotate(`seed ${SEED}: ${judged.right} shops of right parts, ${judged.wrong} with a wrong one`);
  });
