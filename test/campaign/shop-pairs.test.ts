import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import type { Checklist, ChecklistItem } from "../../src/core/control/readiness.ts";
import { CHECKLIST_ITEMS, type ItemName } from "../../src/core/readiness/names.ts";
import { BROKEN_RECEIVERS } from "../support/broken-receivers.ts";
import { SEED, seededRandom, size } from "../support/campaign.ts";
import { eventually } from "../support/eventually.ts";
import {
  askingPage,
  openShopOn,
  rightBooks,
  SHOP,
  waitingPage,
  type BookedEvent,
  type Books,
  type ReturnPage,
  type ShopOrder,
  type ShopParts,
} from "../support/harness-shop.ts";
import { GOOD_RECEIVERS } from "../support/good-receivers.ts";
import { right } from "../support/merchant-receivers.ts";
import {
  BROKEN_CLIENTS,
  GOOD_CLIENTS,
  installClient,
  rightClient,
  type NamedClient,
} from "../support/shop-clients.ts";
import { openWebhookSite } from "../support/webhook-site.ts";

/** A checklist as it is printed. */
type Report = Pick<Checklist, "verdict" | "items">;

/** A shop, and the items that its parts keep open. */
type Row = { readonly name: string; readonly parts: () => ShopParts; readonly open: readonly ItemName[] };

const BROKEN_PAGES: readonly { readonly name: string; readonly page: ReturnPage }[] = [
  {
    name: "believes the return",
    page: ({ order }) => Promise.resolve(void Object.assign(order, { status: "succeeded" })),
  },
  {
    name: "believes the return, 1.5 s later",
    page: ({ order, later }) =>
      Promise.resolve(later(1500, () => Object.assign(order, { status: "succeeded" }))),
  },
  {
    name: "asks, and does not look at the answer",
    page: async ({ order, ask }) => {
      await ask();
      order.status = "succeeded";
    },
  },
];

/** Books that do what `act` does with each event, whatever came before. */
function booksWith(act: (order: ShopOrder, event: BookedEvent & { readonly status: string }) => void): Books {
  return () => (order, event) => act(order, { ...event, status: event.data?.status ?? "" });
}

function moveOn(
  order: ShopOrder,
  { sequence, status }: { readonly sequence: number; readonly status: string },
): void {
  if (sequence > order.sequence) Object.assign(order, { status, sequence });
}

const BROKEN_BOOKS: readonly { readonly name: string; readonly books: Books }[] = [
  {
    name: "books each delivery",
    books: booksWith((order, event) => {
      if (event.status === "succeeded") order.fulfilled += 1;
      moveOn(order, event);
    }),
  },
  {
    name: "books again what is not the last event",
    books: () => {
      let last = "";
      return (order, { event_id: id, sequence, data: { status = "" } = {} }) => {
        if (id === last) return;
        last = id;
        if (status === "succeeded") order.fulfilled += 1;
        moveOn(order, { sequence, status });
      };
    },
  },
  {
    name: "the last event wins",
    books: () => {
      const seen = new Set<string>();
      return (order, { event_id: id, data: { status = "" } = {} }) => {
        if (status === "succeeded" && !seen.has(id)) order.fulfilled += 1;
        seen.add(id);
        order.status = status;
      };
    },
  },
  {
    name: "each event once, and the last one wins",
    books: () => {
      const seen = new Set<string>();
      return (order, { event_id: id, data: { status = "" } = {} }) => {
        if (seen.has(id)) return;
        seen.add(id);
        if (status === "succeeded") order.fulfilled += 1;
        order.status = status;
      };
    },
  },
  {
    name: "a payment counts only after what came before it",
    books: booksWith((order, { sequence, status }) => {
      if (sequence === order.sequence + 1) moveOn(order, { sequence, status });
    }),
  },
];

const GOOD_PARTS: Omit<ShopParts, "receiver"> = { books: rightBooks, page: waitingPage };

const GOOD_SHOPS: readonly Row[] = GOOD_RECEIVERS.map(({ name, make }, index) => ({
  name,
  parts: () => ({ ...GOOD_PARTS, receiver: make(), page: index % 2 === 0 ? waitingPage : askingPage }),
  open: [],
}));

const BROKEN_SHOPS: readonly Row[] = [
  ...BROKEN_RECEIVERS.map(({ name, make }): Row => ({
    name,
    parts: () => ({ ...GOOD_PARTS, receiver: make() }),
    open: ["webhook_verification"],
  })),
  ...BROKEN_BOOKS.map(({ name, books }): Row => ({
    name,
    parts: () => ({ ...GOOD_PARTS, receiver: right, books }),
    open: ["webhook_verification"],
  })),
  ...BROKEN_PAGES.map(({ name, page }): Row => ({
    name,
    parts: () => ({ ...GOOD_PARTS, receiver: right, page }),
    open: ["return_origins"],
  })),
];

const CLIENTS = [
  ...GOOD_CLIENTS.map(({ name, client }) => ({ name, client, isGood: true })),
  ...BROKEN_CLIENTS.map(({ name, client }) => ({ name, client, isGood: false })),
];

const BEFORE = [
  `endpoints add ${SHOP.hooks}`,
  "return-origins add https://shop.example",
  "production request",
  "admin approve-credential",
  "admin open-gate",
].map((line) => line.split(" "));

const IDEMPOTENCY = "checklist run idempotency --client-command client --json".split(" ");

/**
 * The drills of what every client has the same. That of webhooks comes last: it repeats the newest event that was
 * accepted, which is none of the order that the client made.
 */
const DRILLS = [
  `checklist run duplicates --order-view ${SHOP.orderView} --paid-when paid`,
  `checklist run browser-return --return-url ${SHOP.returnUrl} --order-view ${SHOP.orderView} --paid-when paid`,
  `checklist run webhooks --order-view ${SHOP.orderView}`,
].map((line) => `${line} --json`.split(" "));

const READY = "ready";

/** A store that lacks nothing but what its shop has to show. */
async function openStore() {
  const site = await openWebhookSite();
  let secret = "";
  for (const line of BEFORE) {
    const { code, stdout } = await site.harness.run([...line, "--json"]);
    expect([line, code]).toEqual([line, 0]);
    secret = /"signing_secret":"([^"]+)"/.exec(stdout)?.[1] ?? secret;
  }
  const service = { secret: () => secret, statusOf: site.statusOf };
  return { ...site, open: (parts: ShopParts) => openShopOn(site.harness, parts, service) };
}

/** The checklist of a shop with each of some clients; drills that fail are part of it. */
async function judgePairs({ parts }: Row, clients: readonly NamedClient[]): Promise<Report[]> {
  const { harness, open, deliveries, stop } = await openStore();
  open(parts());
  // The drill of webhooks needs an order that the receiver knows.
  installClient(harness, rightClient);
  expect((await harness.run(IDEMPOTENCY)).code).toBe(0);
  await eventually("the receiver was told of the order", async () =>
    expect(
      (await deliveries()).some(({ attempts }) => attempts.some((one) => one.finished_at !== null)),
    ).toBe(true),
  );
  for (const line of DRILLS) expect((await harness.run(line)).stderr).toBe("");
  const reports: Report[] = [];
  for (const { client } of clients) {
    installClient(harness, client);
    const { code, stderr } = await harness.run(IDEMPOTENCY);
    expect([code, stderr]).toEqual([code === 0 ? 0 : 1, ""]);
    const { stdout } = await harness.run(["checklist", "--json"]);
    reports.push(JSON.parse(stdout) as Report);
  }
  await stop();
  return reports;
}

function byPlace(one: ItemName, other: ItemName): number {
  return CHECKLIST_ITEMS.indexOf(one) - CHECKLIST_ITEMS.indexOf(other);
}

function isOpen({ status, assumptions }: ChecklistItem): boolean {
  return status !== "pass" || assumptions.length > 0;
}

/** What is wrong with the checklist of a pair: it must be ready if both are right, and open where one is wrong. */
function wrongIn(row: Row, client: (typeof CLIENTS)[number], { verdict, items }: Report): string[] {
  const open: readonly ItemName[] = client.isGood ? row.open : [...row.open, "idempotency_replay"];
  const found = items.filter(isOpen).map(({ name }) => name);
  // Where no webhook is accepted, a drill of a return cannot be told either.
  const isDeaf = open.includes("webhook_verification");
  const judged = found.filter((name) => !isDeaf || name !== "return_origins");
  const isReady = verdict === READY && found.length === 0;
  const isRight = isReady === (open.length === 0) && isDeepStrictEqual(judged, open.toSorted(byPlace));
  return isRight ? [] : [`${row.name} + ${client.name}: ${verdict}, open: ${found.join(" ")}`];
}

test("no pair of a shop and a client is ready if one is wrong, and none is refused if both are right", async ({
  annotate,
}) => {
  const random = seededRandom(SEED);
  const some = <One>(rows: readonly One[], count: number): One[] =>
    rows
      .map((row) => ({ row, order: random() }))
      .toSorted((one, other) => one.order - other.order)
      .slice(0, count)
      .map(({ row }) => row);
  const rows = some([...GOOD_SHOPS, ...BROKEN_SHOPS], size(16, Number.POSITIVE_INFINITY));
  const wrong: string[] = [];
  let pairs = 0;
  for (const row of rows) {
    const clients = some(CLIENTS, size(2, Number.POSITIVE_INFINITY));
    const reports = await judgePairs(row, clients);
    wrong.push(...clients.flatMap((client, index) => wrongIn(row, client, reportAt(reports, index))));
    pairs += clients.length;
  }
  expect(wrong, `seed ${SEED}`).toEqual([]);
  await annotate(`seed ${SEED}: ${pairs} pairs of ${rows.length} shops and ${CLIENTS.length} clients`);
});

function reportAt(reports: readonly Report[], index: number): Report {
  const report = reports[index];
  if (report === undefined) throw new Error("every pair has its checklist");
  return report;
}
