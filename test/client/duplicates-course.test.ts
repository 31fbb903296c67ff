import { expect, test } from "vitest";
import { drillDuplicates, DUPLICATES_LEASE_MS, duplicatesTime } from "../../src/client/drills/duplicates.ts";
import type { DrilledOrder } from "../../src/client/drills/duplicates-send.ts";
import { english } from "../../src/core/language.ts";
import { DUPLICATES_CAUSES } from "../../src/core/readiness/drills/duplicates-causes.ts";
import type { CheckoutObject } from "../../src/core/checkout/checkout.ts";
import { judgeDuplicates } from "../../src/core/readiness/drills/duplicates.ts";
import { ORDER_OUTCOMES, type OrderOutcome } from "../../src/core/readiness/drills/duplicates-scope.ts";
import type { OutboundResult } from "../../src/world.ts";
import {
  CONTROL,
  createDrillClock,
  idOf,
  REFUSED,
  serveControl,
  type ControlAnswers,
  type ControlCallPoint,
} from "../support/drill-service.ts";
import { aCheckoutWithEvents } from "../support/rows.ts";

const SHOP = "http://localhost:3000";
const SUBJECT = `${idOf(900)} ${SHOP}/hooks`;
const LEASE = idOf(901);
/** The number that an id of an event begins with, by the number of its order. */
const EVENTS = 1000;

/** A delivery to a shop: the order and its status, or a test event. */
type Delivery = {
  readonly eventId: string;
  readonly orderId: string;
  readonly status: string;
  readonly forged: boolean;
};

/** What a shop knows of an order. */
type ShopOrder = { status: "open" | "paid"; bookings: number };

/** What a shop can do about a delivery or a look at its view. */
type Tools = {
  readonly order: ShopOrder;
  readonly book: () => void;
  /** What the shop remembers over all its orders. */
  readonly life: Set<string>;
  readonly later: (milliseconds: number, act: () => void) => void;
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Whether v1 says that the order is paid. */
  readonly ask: () => boolean;
  readonly now: number;
};

/** A shop in memory. */
type Shop = {
  /** Answers a status, default 200. */
  readonly onEvent: (delivery: Delivery, tools: Tools) => number | void | Promise<number | void>;
  /** The text of its view, or its status. Default: status and number of bookings, 404 for an unknown order. */
  readonly show?: (tools: Tools, orderId: string) => string | number;
  readonly onRestart?: (tools: Pick<Tools, "life">, orders: Map<string, ShopOrder>) => void;
};

/** Keeps the ids of events. */
const RIGHT: Shop = {
  onEvent: ({ eventId, status, forged }, { life, book }) => {
    if (forged) return 400;
    if (status === "succeeded" && !life.has(eventId)) book();
    life.add(eventId);
    return 200;
  },
};

const PLAIN = { order: "o", checkout_session: "s" } as const;

function ordersOf(kinds: readonly CheckoutObject[], ends: readonly OrderOutcome[] = ORDER_OUTCOMES) {
  return kinds.flatMap((kind) =>
    ends.map((end): Omit<DrilledOrder, "id"> => ({ kind, end, orderId: `${PLAIN[kind]}-${end}` })),
  );
}

type Plan = {
  readonly orders: readonly Omit<DrilledOrder, "id">[];
  readonly isQuick?: boolean;
  readonly ownOrders?: boolean;
  readonly shop?: Shop;
  readonly refused?: ControlCallPoint;
  readonly hasRestart?: boolean;
  /** Interrupts the drill at this line of its course. */
  readonly interruptedAt?: string;
};

/** Runs a drill against a shop and a service in memory, and writes down what it does and when. */
async function runDrill(plan: Plan) {
  const {
    orders,
    isQuick = false,
    ownOrders = true,
    shop = RIGHT,
    refused,
    hasRestart = false,
    interruptedAt,
  } = plan;
  const clock = createDrillClock();
  const course: string[] = [];
  const interrupt = new AbortController();
  const note = (line: string): void => {
    course.push(`${clock.now() / 1000} ${line}`);
    if (line === interruptedAt) interrupt.abort();
  };
  const drilled = orders.map((order, at): DrilledOrder => Object.assign({ id: idOf(at + 1) }, order));
  const events = new Map(drilled.map(({ id }) => [id, ["created"]]));
  const eventId = (at: number, status: number): string => idOf(EVENTS * (at + 1) + status);
  const known = new Map<string, ShopOrder>();
  const life = new Set<string>();
  const retrieves: string[] = [];
  let tests = 0;

  const toolsOf = (orderId: string): Tools => {
    const order = known.get(orderId) ?? { status: "open", bookings: 0 };
    const id = drilled.find((one) => one.orderId === orderId)?.id ?? "";
    return {
      order,
      book: () => Object.assign(order, { status: "paid", bookings: order.bookings + 1 }),
      life,
      later: clock.after,
      wait: clock.sleep,
      ask: () => {
        const isPaid = events.get(id)?.includes("succeeded") === true;
        if (isPaid) retrieves.push(id);
        return isPaid;
      },
      now: clock.now(),
    };
  };
  const answer = async (delivery: Delivery): Promise<number> => {
    const tools = toolsOf(delivery.orderId);
    known.set(delivery.orderId, tools.order);
    return (await shop.onEvent(delivery, tools)) ?? 200;
  };
  const deliveryOf = (id: string, forged: boolean): Delivery => {
    const number = Number(id.slice(-12));
    const order = drilled[Math.floor(number / EVENTS) - 1];
    if (order === undefined) return { eventId: id, orderId: "", status: "test", forged };
    const status = events.get(order.id)?.[number % EVENTS] ?? "";
    return { eventId: id, orderId: order.orderId, status: forged ? "succeeded" : status, forged };
  };
  const answers: ControlAnswers = {
    pay: ({ outcome }, id) => {
      const order = drilled.find((one) => one.id === id);
      note(`pay ${order?.orderId}: ${outcome}`);
      const made = events.get(id) ?? [];
      if (["declined", "succeeded", "failed"].includes(outcome) && !made.includes("pending"))
        made.push("pending");
      if (outcome !== "declined") made.push(outcome);
      return { id, status: "pending", late: false, moves: [] };
    },
    inspectCheckout: (_body, id) => {
      const at = drilled.findIndex((one) => one.id === id);
      const { orderId = "", kind: object = "order" } = drilled[at] ?? {};
      const made = (events.get(id) ?? []).map((status, sequence) => ({
        eventId: eventId(at, sequence),
        type: `${object}.${status}`,
        sequence: sequence + 1,
        createdAt: 0,
      }));
      return aCheckoutWithEvents({ id, object, orderId, events: made });
    },
    listRetrieves: () => ({ paidCheckouts: [...retrieves] }),
    testEndpoint: (_body, id) => {
      note(`test ${id === idOf(900) ? "the endpoint" : id}`);
      return { eventId: idOf((tests += 1) + 500) };
    },
    deliverForDrill: async ({ eventId: id, forged = false, otherId = false, subject, leaseId }) => {
      expect([leaseId, subject]).toEqual([
        LEASE,
        course.some((line) => line.includes("→")) ? SUBJECT : undefined,
      ]);
      const delivery = deliveryOf(id, forged);
      const status = await answer(delivery);
      const disguise = otherId ? " with another id" : "";
      note(`→ ${forged ? "forged " : ""}${delivery.orderId} ${delivery.status}${disguise}: ${status}`);
      return { subject: SUBJECT, answers: [{ status, error: null }] };
    },
  };
  const control = serveControl(answers, refused);
  const show = shop.show ?? (({ order: { status, bookings } }: Tools) => `${status} ${bookings}`);
  const view = (url: string): OutboundResult => {
    const orderId = url.slice(`${SHOP}/orders/`.length);
    const shown = known.has(orderId) ? show(toolsOf(orderId), orderId) : 404;
    const [status, body] = typeof shown === "number" ? [shown, ""] : [200, shown];
    return { ok: true, status, headers: {}, body };
  };
  const send = (request: Parameters<typeof control.send>[0]): Promise<OutboundResult> =>
    request.url.startsWith(SHOP) ? Promise.resolve(view(request.url)) : control.send(request);
  const restart = (): Promise<void> => {
    note("restart");
    return Promise.resolve(shop.onRestart?.({ life }, known));
  };
  const result = await drillDuplicates(
    { ...clock, send, run: () => Promise.reject(new Error("no command")) },
    {
      target: CONTROL,
      view: { from: { url: `${SHOP}/orders/{order_id}` }, paidWhen: /\bpaid\b/ },
      orders: drilled,
      leaseId: LEASE,
      signal: interrupt.signal,
      restart: hasRestart ? restart : undefined,
      scope: { ownOrders, sellsBoth: true, isQuick },
    },
  );
  return { result, course, calls: control.calls, endedAt: clock.now() / 1000 };
}

const BOTH = ["order", "checkout_session"] as const;
const TWO_KINDS: Plan = { orders: ordersOf(BOTH), hasRestart: true };
const ONE_KIND: Plan = { orders: ordersOf(["order"]), hasRestart: true };

/** What the drill does to a right shop, with the second at which it does it. */
const COURSE = [
  "0 → o-failed created: 200",
  "0 → o-declined created: 200",
  "0 → o-expired created: 200",
  "0 → o-cancelled created: 200",
  "0 → s-failed created: 200",
  "0 → s-declined created: 200",
  "0 → s-expired created: 200",
  "0 → s-cancelled created: 200",
  "0 pay o-declined: declined",
  "0 pay s-declined: declined",
  "0 → o-declined pending: 200",
  "0 → s-declined pending: 200",
  "0 → forged o-failed succeeded: 400",
  "0 → forged o-expired succeeded: 400",
  "0 → forged o-cancelled succeeded: 400",
  "0 → forged s-failed succeeded: 400",
  "0 → forged s-expired succeeded: 400",
  "0 → forged s-cancelled succeeded: 400",
  "3 pay o-paid: succeeded",
  "3 pay o-declined: succeeded",
  "3 pay s-paid: succeeded",
  "3 pay s-declined: succeeded",
  "3 → o-paid succeeded: 200",
  "3 → s-paid succeeded: 200",
  "3 → s-declined succeeded: 200",
  "3 → s-declined succeeded: 200",
  "3 → o-declined succeeded: 200",
  "3 → o-declined succeeded: 200",
  "10 → o-paid succeeded: 200",
  "10 → s-paid succeeded: 200",
  "13 → s-paid created: 200",
  "13 → o-paid created: 200",
  "16 → o-paid pending: 200",
  "16 → s-paid pending: 200",
  "19 → s-paid succeeded: 200",
  "19 → o-paid succeeded: 200",
  "22 → o-paid created: 200",
  "22 → s-paid created: 200",
  "25 → s-paid succeeded: 200",
  "25 → s-paid succeeded with another id: 200",
  "25 → o-paid succeeded: 200",
  "25 → o-paid succeeded with another id: 200",
  "28 pay o-failed: failed",
  "28 pay o-expired: expired",
  "28 pay o-cancelled: cancelled",
  "28 pay s-failed: failed",
  "28 pay s-expired: expired",
  "28 pay s-cancelled: cancelled",
  "28 → o-failed created: 200",
  "28 → o-failed pending: 200",
  "28 → o-failed failed: 200",
  "28 → o-expired created: 200",
  "28 → o-expired expired: 200",
  "28 → o-cancelled created: 200",
  "28 → o-cancelled cancelled: 200",
  "28 → s-failed created: 200",
  "28 → s-failed pending: 200",
  "28 → s-failed failed: 200",
  "28 → s-expired created: 200",
  "28 → s-expired expired: 200",
  "28 → s-cancelled created: 200",
  "28 → s-cancelled cancelled: 200",
  "31 → o-paid succeeded: 200",
  "31 → s-paid succeeded: 200",
  "41 → s-declined succeeded: 200",
  "41 → o-declined succeeded: 200",
  "44 restart",
  "44 → o-paid succeeded: 200",
  "44 → s-paid succeeded: 200",
];

test("each event is sent in its turn, after the waits that it needs", async () => {
  const { course, endedAt } = await runDrill(TWO_KINDS);
  expect(course).toEqual(COURSE);
  expect(endedAt).toBe(50);
  const alone = await runDrill(ONE_KIND);
  const own = COURSE.filter((line) => !line.includes(" s-"));
  // Of one kind seven events are sent between the payments, and four tests.
  const tests = Array.from({ length: 4 }, () => ["31 test the endpoint", "31 →  test: 200"]).flat();
  const at = own.indexOf("31 → o-paid succeeded: 200");
  expect(alone.course).toEqual([...own.slice(0, at), ...tests, ...own.slice(at)]);
});

test("it takes as long as it says, however many orders there are", async () => {
  for (const ends of [ORDER_OUTCOMES, ["paid"], ["paid", "failed"], ["paid", "failed", "declined"]] as const)
    for (const isQuick of [false, true])
      for (const hasRestart of [false, true]) {
        const { endedAt, result } = await runDrill({
          orders: ordersOf(["order"], ends),
          isQuick,
          hasRestart,
        });
        const verdict = result.end === "success" ? judgeDuplicates(result.value.facts).verdict : result.end;
        const { waitMs, totalMs } = duplicatesTime(ends, { isQuick, hasRestart });
        expect([ends, isQuick, hasRestart, verdict, endedAt, totalMs - waitMs]).toEqual([
          ends,
          isQuick,
          hasRestart,
          "passed",
          waitMs / 1000,
          5000,
        ]);
      }
});

test("where the sandbox refuses one of its calls, it ends with the reason and acts no more", async () => {
  const { calls } = await runDrill(ONE_KIND);
  expect(calls.length).toBe(55);
  for (const [at, refused] of calls.entries()) {
    const { result, ...run } = await runDrill({ ...ONE_KIND, refused });
    const error = { code: "state_conflict", message: REFUSED };
    expect([refused, result]).toEqual([refused, { end: "refusal", status: 409, error }]);
    // Two deliveries that are sent at once both end.
    const isTwin = refused.name === "deliverForDrill" && run.calls.length === at + 2;
    expect([refused, isTwin || run.calls.length === at + 1]).toEqual([refused, true]);
  }
});

test("a shop that takes its time for each event is not cut off", async () => {
  const onEvent: Shop["onEvent"] = async (delivery, tools) => {
    await tools.wait(15_000);
    return RIGHT.onEvent(delivery, tools);
  };
  const { result, endedAt } = await runDrill({ ...TWO_KINDS, shop: { onEvent } });
  expect(result.end).toBe("success");
  expect(endedAt * 1000).toBeLessThan(DUPLICATES_LEASE_MS);
});

test("where it is interrupted it acts no more", async () => {
  const acts = (lines: readonly string[]): string[] => lines.map((line) => line.replace(/^\S+ /, ""));
  for (const line of new Set(acts((await runDrill(ONE_KIND)).course))) {
    const { result, course } = await runDrill({ ...ONE_KIND, interruptedAt: line });
    const after = acts(course).slice(acts(course).indexOf(line) + 1);
    // Of two deliveries that are sent at once the other is under way.
    expect([line, result, after.filter((other) => other !== line)]).toEqual([
      line,
      { end: "interrupted" },
      [],
    ]);
  }
});

/** The causes of the steps that fail, or the steps that tell what was not proved; and how long the drill waits, in seconds. */
type Row = readonly [
  what: string,
  shop: Shop,
  shown: readonly [verdict: string, told: readonly string[], waits: number],
  plan?: Partial<Plan>,
];
const bookOnce: Shop["onEvent"] = RIGHT.onEvent;
const payOnce: Shop["onEvent"] = ({ status, forged }, { order, book }) =>
  forged ? 400 : void (status === "succeeded" && order.status === "open" && book());
const booksEach: Shop["onEvent"] = ({ status, forged }, { book }) =>
  forged ? 400 : void (status === "succeeded" && book());
const ROWS: readonly Row[] = [
  ["right", RIGHT, ["passed", [], 50]],
  ["books each delivery", { onEvent: booksEach }, ["failed", ["books_again"], 66]],
  [
    "looks, and books 50 ms later",
    {
      onEvent: async ({ eventId, status, forged }, { life, wait, book }) => {
        if (forged) return 400;
        if (life.has(eventId)) return 200;
        await wait(50);
        life.add(eventId);
        if (status === "succeeded") book();
        return 200;
      },
    },
    ["failed", ["books_at_once"], 52.7],
  ],
  [
    "marks paid at once, and books each delivery 15 s later",
    {
      onEvent: ({ status, forged }, { order, later }) => {
        if (forged) return 400;
        if (status !== "succeeded") return 200;
        order.status = "paid";
        later(15_000, () => (order.bookings += 1));
        return 200;
      },
    },
    ["failed", ["books_again"], 146],
  ],
  [
    "books 12 s later, once",
    {
      onEvent: ({ status, forged }, { order, book, later }) => {
        if (forged) return 400;
        if (status === "succeeded") later(12_000, () => void (order.status === "paid" || book()));
        return 200;
      },
    },
    ["passed", [], 155],
  ],
  [
    "counts from nothing again when the creation comes first, late",
    {
      onEvent: (delivery, tools) => {
        if (!delivery.forged && delivery.status === "created" && !tools.life.has(delivery.eventId))
          tools.order.bookings = 0;
        return bookOnce(delivery, tools);
      },
    },
    ["failed", ["undoes_booking"], 84],
  ],
  [
    "keeps each delivery of a payment until the creation has come",
    {
      onEvent: ({ orderId, status, forged }, { life, order, book }) => {
        if (forged) return 400;
        if (status === "created") {
          if (!life.has(orderId))
            for (const one of [...life].filter((kept) => kept.startsWith(`${orderId} kept`))) {
              life.delete(one);
              book();
            }
          life.add(orderId);
        } else if (status === "succeeded") {
          if (!life.has(orderId)) life.add(`${orderId} kept ${life.size}`);
          else if (order.status === "open") book();
        }
        return 200;
      },
    },
    ["failed", ["books_kept"], 146],
  ],
  [
    // Between the last look after a send and the first look before the next one.
    "books the fourth delivery of a payment, 4 s later",
    {
      onEvent: (delivery, tools) => {
        const { eventId, status, forged } = delivery;
        const nth = [1, 2, 3, 4].find((one) => !tools.life.has(`${eventId} ${one}`));
        if (status === "succeeded" && !forged) tools.life.add(`${eventId} ${nth}`);
        if (status === "succeeded" && !forged && nth === 4) tools.later(4000, tools.book);
        return RIGHT.onEvent(delivery, tools);
      },
    },
    ["failed", ["knows_by_header"], 69],
  ],
  [
    "books a paid order whose creation comes again, 5 s later",
    {
      onEvent: (delivery, tools) => {
        const isPaid = tools.order.status === "paid";
        const isAgain = delivery.status === "created" && tools.life.has(delivery.eventId);
        if (isPaid && isAgain) tools.later(5000, tools.book);
        return RIGHT.onEvent(delivery, tools);
      },
    },
    ["failed", ["knows_by_header"], 72],
  ],
  [
    "keeps the ids in its memory",
    { ...RIGHT, onRestart: ({ life }) => life.clear() },
    ["failed", ["forgets_at_restart"], 47],
  ],
  [
    "keeps its orders in its memory",
    {
      ...RIGHT,
      onRestart: (_tools, orders) => {
        for (const order of orders.values()) Object.assign(order, { status: "open", bookings: 0 });
      },
    },
    ["failed", ["forgets_at_restart"], 59],
  ],
  [
    "shows a clock with seconds",
    {
      ...RIGHT,
      show: ({ order, now }) =>
        `${order.status} ${order.bookings} at 12:00:${String(Math.floor(now / 1000)).padStart(2, "0")}`,
    },
    ["passed", [], 72],
  ],
  [
    "shows a clock with minutes",
    {
      ...RIGHT,
      show: ({ order, now }) =>
        `${order.status} ${order.bookings} at 12:${String(Math.floor(now / 60_000)).padStart(2, "0")}`,
    },
    ["passed", [], 50],
  ],
  [
    "never shows the same",
    { onEvent: payOnce, show: ({ order, now }) => `${order.status} ${"x ".repeat(now / 250)}` },
    ["unknown", ["view_restless"], 216],
  ],
  [
    "shows the status alone",
    { ...RIGHT, show: ({ order }) => order.status },
    ["passed", ["status_alone"], 50],
  ],
  [
    "asks v1 at each look",
    { onEvent: () => undefined, show: ({ ask }) => (ask() ? "paid" : "open") },
    ["unknown", ["view_of_service"], 3],
  ],
  [
    "asks v1 at a look, and keeps the answer",
    {
      onEvent: () => undefined,
      show: ({ order, ask, book }) => {
        if (order.status === "open" && ask()) book();
        return `${order.status} ${order.bookings}`;
      },
    },
    ["passed", [], 50],
  ],
  [
    "cannot show what is paid",
    { ...RIGHT, show: ({ order }) => (order.status === "paid" ? 500 : "open") },
    ["unknown", ["view_unreadable"], 150],
  ],
  ["knows no order", { ...RIGHT, show: () => 404 }, ["unknown", ["order_unknown"], 1.25]],
  [
    "knows no order of its own",
    { ...RIGHT, show: () => 404 },
    ["unknown", ["own_order_unknown"], 1.25],
    { ownOrders: false },
  ],
  [
    "has orders of its own",
    RIGHT,
    ["passed", ["not_drilled", "only_one_kind"], 80],
    { ownOrders: false, orders: ordersOf(["order"], ["paid"]) },
  ],
  [
    "books failed events 10 s later",
    {
      onEvent: (delivery, tools) => {
        if (delivery.status === "failed") tools.later(10_000, tools.book);
        return bookOnce(delivery, tools);
      },
    },
    ["failed", ["books_failed"], 50],
  ],
  [
    "books a forged payment 2 s later",
    {
      onEvent: (delivery, tools) => {
        if (delivery.forged) tools.later(2000, tools.book);
        return bookOnce(delivery, tools);
      },
    },
    ["failed", ["books_unverified"], 2],
  ],
  [
    "books a declined attempt",
    {
      onEvent: (delivery, tools) => {
        if (delivery.status === "pending") tools.book();
        return bookOnce(delivery, tools);
      },
    },
    ["failed", ["books_pending"], 0],
  ],
  [
    "books each delivery, of the only order, which is its own",
    { onEvent: booksEach },
    ["failed", ["books_again"], 93],
    { ownOrders: false, orders: ordersOf(["order"], ["paid"]) },
  ],
  [
    "is limited, and answers the third attempt",
    {
      onEvent: (delivery, tools) => {
        const key = `attempts at ${delivery.eventId} ${delivery.forged} ${Math.floor(tools.now / 5000)}`;
        for (const nth of [1, 2])
          if (!tools.life.has(`${key} ${nth}`)) {
            tools.life.add(`${key} ${nth}`);
            return 429;
          }
        return bookOnce(delivery, tools);
      },
    },
    ["passed", ["not_drilled", "only_one_kind", "rate_limited"], 153.2],
    { orders: ordersOf(["order"], ["paid", "failed"]) },
  ],
  [
    "is always limited",
    { onEvent: () => 429 },
    ["unknown", ["never_paid"], 256.8],
    { orders: ordersOf(["order"], ["paid"]) },
  ],
  [
    "its view is always limited",
    { ...RIGHT, show: () => 429 },
    ["unknown", ["view_limited"], 201.05],
    { orders: ordersOf(["order"], ["paid"]) },
  ],
  [
    "shows the wrong order paid",
    {
      onEvent: ({ status, forged }, { life }) =>
        forged ? 400 : void (status === "succeeded" && life.add("paid")),
      show: ({ life }) => (life.has("paid") ? "paid" : "open"),
    },
    ["unknown", ["paid_in_the_end"], 47],
  ],
];

test("each shop is told what it shows, after the waits that show it", async () => {
  const codes = new Map(Object.entries(DUPLICATES_CAUSES).map(([code, words]) => [english(words), code]));
  for (const [what, shop, shown, plan] of ROWS) {
    const { result, endedAt } = await runDrill({ ...TWO_KINDS, shop, ...plan });
    if (result.end !== "success") throw new Error(`${what}: ${result.end}`);
    const { verdict, steps } = judgeDuplicates(result.value.facts);
    const told = steps.flatMap(({ name, passed, cause }) =>
      cause === null ? [] : [passed ? name : (codes.get(cause) ?? cause)],
    );
    expect([what, verdict, [...new Set(told)], endedAt]).toEqual([what, ...shown]);
    expect(result.value.subject).toBe(SUBJECT);
  }
});
