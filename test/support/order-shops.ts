import { verifyWebhook } from "../../src/core/webhook/verify.ts";
import type { HttpRequest, HttpResponse, World } from "../../src/world.ts";
import type { openWebhookSite } from "./webhook-site.ts";

type Site = Awaited<ReturnType<typeof openWebhookSite>>;

/** A shop's record of an order. */
type Order = { status: string; bookings: number; sequence: number; seen: string[] };

/** A verified event, and the shop's possible reactions. */
export type ShopEvent = {
  readonly id: string;
  readonly type: string;
  readonly orderId: string;
  readonly amount: number;
  /** The keys that the shop has recorded, for all its orders. */
  readonly life: Set<string>;
  readonly status: string;
  readonly sequence: number;
  readonly session: string;
  /** The time now, in milliseconds. */
  readonly now: number;
  readonly order: Order;
  /** Whether the event says that the order is paid. */
  readonly payment: boolean;
  /** Whether the shop has marked the order paid. */
  readonly paid: boolean;
  /** The time now, without fractions of a second. */
  readonly paidAt: string;
  /** The number of the event among all events, from 1. */
  readonly count: number;
  /** Marks the order paid, and books it. */
  readonly book: () => void;
  /** Asks v1 for the status of the session. */
  readonly ask: () => Promise<string>;
  /** Delays the answer. */
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Runs an action after a delay. */
  readonly later: (milliseconds: number, act: () => void) => void;
};

/** A shop's action for an event, and its view of an order. */
export type ShopPlan = {
  /** Returns the status of the answer; default: 200. */
  readonly onEvent: (event: ShopEvent) => number | void | Promise<number | void>;
  readonly show?: (order: Order, moment: string) => string;
  /** The status of the shop's view; default: 200. */
  readonly viewStatus?: (order: Order) => number;
  /** Whether the shop acts on an event with a wrong signature and these headers; the event is refused in any case. */
  readonly believes?: (headers: readonly string[], event: HookEvent) => boolean;
  /**
   * The part of a request from which the shop reads the event's id. Default: the shop refuses a request whose header
   * and body have different ids, as the exported verifier does.
   */
  readonly readsId?: "body" | "header";
  /** The status for a wrong signature; default: 400. */
  readonly refusal?: number;
  /** Maximum number of requests in a second; all others get 429. */
  readonly perSecond?: number;
  /** Runs an action when the view is requested. */
  readonly onView?: (session: string, event: Pick<ShopEvent, "ask" | "order" | "book">) => Promise<void>;
};

/** The parts of an event that shops read. */
export type HookEvent = {
  readonly event_id: string;
  readonly type: string;
  readonly sequence: number;
  readonly previous_status: string | null;
  readonly data: {
    readonly id: string;
    readonly order_id: string;
    readonly amount_minor: number;
    readonly currency: string;
  };
};

/** A shop's surroundings: a clock, and the status according to v1. */
type ShopWorld = {
  readonly clock: Pick<World, "now" | "sleep" | "after">;
  readonly statusOf: (id: string) => Promise<string>;
};

const OK: HttpResponse = { status: 200, headers: {}, body: "" };

/** The bookings of a shop: the effect of an event on them, and the shop's view of an order. */
export function createOrderBooks({ clock, statusOf }: ShopWorld) {
  const orders = new Map<string, Order>();
  const sessions = new Map<string, string>();
  const terms = new Map<string, string>();
  const life = new Set<string>();
  const orderOf = (id: string): Order => {
    const order = orders.get(id) ?? { status: "open", bookings: 0, sequence: 0, seen: [] };
    orders.set(id, order);
    return order;
  };
  const book = (order: Order) => (): void => {
    order.status = "paid";
    order.bookings += 1;
  };
  const act = async (plan: ShopPlan, event: HookEvent, count: number): Promise<number> => {
    const order = orderOf(event.data.order_id);
    // Another system may use the order_id for another amount or currency, which is not a payment of this order.
    const paid = `${event.data.amount_minor} ${event.data.currency}`;
    const price = terms.get(event.data.order_id) ?? paid;
    if (price !== paid) return 200;
    terms.set(event.data.order_id, price);
    sessions.set(event.data.order_id, event.data.id);
    const status = event.type.split(".")[1] ?? "";
    const said = await plan.onEvent({
      id: event.event_id,
      type: event.type,
      orderId: event.data.order_id,
      amount: event.data.amount_minor,
      life,
      status,
      sequence: event.sequence,
      session: event.data.id,
      now: clock.now(),
      order,
      payment: status === "succeeded",
      paid: order.status === "paid",
      paidAt: new Date(clock.now()).toISOString().slice(0, 19),
      count,
      book: book(order),
      ask: () => statusOf(event.data.id),
      wait: (milliseconds) => clock.sleep(milliseconds),
      later: (milliseconds, later) => clock.after(milliseconds, later),
    });
    if (!order.seen.includes(event.event_id)) order.seen.push(event.event_id);
    return typeof said === "number" ? said : 200;
  };
  const show = async (plan: ShopPlan, id: string): Promise<HttpResponse> => {
    const order = orders.get(id);
    const session = sessions.get(id);
    if (order === undefined) return { ...OK, status: 404 };
    const ask = (): Promise<string> => statusOf(session ?? "");
    await plan.onView?.(session ?? "", { ask, order, book: book(order) });
    const shown = plan.show ?? (({ status, bookings }) => JSON.stringify({ status, bookings }));
    const status = plan.viewStatus?.(order) ?? 200;
    return { ...OK, status, body: shown(order, new Date(clock.now()).toISOString()) };
  };
  return {
    orders,
    act,
    show,
    sessionOf: (orderId: string) => sessions.get(orderId),
    isPaid: (orderId: string) => orderOf(orderId).status === "paid",
    /** Marks an order paid, without a booking. */
    pay: (orderId: string) => void (orderOf(orderId).status = "paid"),
    /** Books an order, even if it is booked already. */
    bookAgain: (orderId: string) => book(orderOf(orderId))(),
    /** Marks an order as waiting for its payment. */
    wait: (orderId: string) => void (orderOf(orderId).status = "open"),
  };
}

/** A shop on port 3000 of a site: `/hooks` takes webhooks, `/orders/{order_id}` shows an order. */
export function openOrderShop(
  { harness, sandbox, statusOf }: Pick<Site, "harness" | "sandbox" | "statusOf">,
  plan: ShopPlan,
): void {
  const { clock } = harness;
  const books = createOrderBooks({ clock, statusOf });
  let count = 0;

  const takeWebhook = async ({ rawHeaders, body: rawBody }: HttpRequest): Promise<HttpResponse> => {
    const secrets = [sandbox().ready.signing_secret];
    const headers = plan.readsId === undefined ? rawHeaders : withoutId(rawHeaders);
    const verdict = verifyWebhook({ rawBody, headers, secrets, now: clock.now() });
    const event = JSON.parse(Buffer.from(rawBody).toString("utf8")) as HookEvent;
    const refused = { ...OK, status: plan.refusal ?? 400 };
    const number = (count += 1);
    if (!verdict.ok && plan.believes?.(rawHeaders, event) !== true) return refused;
    const id = plan.readsId === "header" ? headerOf(rawHeaders, EVENT_ID) : event.event_id;
    const status = await books.act(plan, { ...event, event_id: id ?? "" }, number);
    return verdict.ok ? { ...OK, status } : refused;
  };

  const times: number[] = [];
  const isTooMany = (): boolean => {
    if (plan.perSecond === undefined) return false;
    const now = clock.now();
    if (times.filter((time) => time > now - 1000).length >= plan.perSecond) return true;
    times.push(now);
    return false;
  };
  const answer = (request: HttpRequest): Promise<HttpResponse> => {
    if (isTooMany()) return Promise.resolve({ ...OK, status: 429 });
    return request.target === "/hooks"
      ? takeWebhook(request)
      : books.show(plan, request.target.slice("/orders/".length));
  };
  harness.occupy(3000, { answer, refuse: () => ({ ...OK, status: 400 }) });
}

const FINAL = new Set(["succeeded", "failed", "cancelled", "expired"]);

/** Books each event id once, and records the id at the same moment, as with a unique index. */
function byEventId({ id, payment, order, book }: ShopEvent): void {
  if (order.seen.includes(id)) return;
  order.seen.push(id);
  if (payment) book();
}

/** Reads all orders of the shop, as from a file, and writes them all back after a pause. */
function keptInOneFile(): ShopPlan["onEvent"] {
  const files = new WeakMap<Set<string>, Set<Order>>();
  return async ({ life, order, payment, wait }) => {
    const file = files.get(life) ?? new Set();
    files.set(life, file.add(order));
    const read = new Map([...file].map((one) => [one, structuredClone(one)]));
    await wait(20);
    const own = read.get(order);
    if (payment && own !== undefined && own.status !== "paid")
      Object.assign(own, { status: "paid", bookings: 1 });
    for (const [one, copy] of read) Object.assign(one, copy);
  };
}

/** Reads the current event from a variable of the whole shop, after a pause. */
function keptInOneVariable(): ShopPlan["onEvent"] {
  const inHand = new WeakMap<Set<string>, ShopEvent>();
  return async (event) => {
    inHand.set(event.life, event);
    await event.wait(20);
    const now = inHand.get(event.life);
    if (now?.payment === true && now.order.status !== "paid") now.book();
  };
}

/** Marks an order paid immediately, and books each delivery of the payment later. */
function booksLater(milliseconds: number): ShopPlan["onEvent"] {
  return ({ payment, order, later }) => {
    if (!payment) return;
    order.status = "paid";
    later(milliseconds, () => (order.bookings += 1));
  };
}

/** Checks whether the event is known, and records it after a pause, with the booking. */
function looksAndBooks(milliseconds: number): ShopPlan["onEvent"] {
  return async ({ id, payment, life, book, wait }) => {
    if (life.has(id)) return;
    await wait(milliseconds);
    life.add(id);
    if (payment) book();
  };
}

/** Correct shops of different kinds: each must pass the duplicates drill. */
export const GOOD_SHOPS: Readonly<Record<string, ShopPlan>> = {
  "keeps the event ids": { onEvent: byEventId },
  "keeps the event ids of the body, whatever the header says": { onEvent: byEventId, readsId: "body" },
  "compares sequences": {
    onEvent: ({ sequence, order, payment, book }) => {
      if (sequence <= order.sequence) return;
      order.sequence = sequence;
      if (payment) book();
    },
  },
  "asks the API about each event": {
    onEvent: async ({ ask, order, book }) => {
      const status = await ask();
      // Without an answer of the API the shop asks for the event again.
      if (status === "") return 503;
      if (status === "succeeded" && order.status !== "paid") book();
      return undefined;
    },
  },
  "asks the API when its view is asked for": {
    onEvent: () => undefined,
    onView: async (_session, { ask, order, book }) => {
      if (order.status !== "paid" && (await ask()) === "succeeded") book();
    },
  },
  "knows final states": {
    onEvent: ({ status, order, book }) => {
      if (order.status === "paid") return;
      if (status === "succeeded") book();
      else order.status = FINAL.has(status) ? status : "open";
    },
  },
  "works 3 s later, in a queue": {
    onEvent: ({ payment, order, book, later }) => {
      if (payment) later(3000, () => void (order.status === "paid" || book()));
    },
  },
  "marks paid at once and books 4 s later": {
    onEvent: ({ payment, paid, order, later }) => {
      if (!payment || paid) return;
      order.status = "paid";
      later(4000, () => (order.bookings += 1));
    },
  },
  "works 12 s later, in a queue": {
    onEvent: ({ payment, order, book, later }) => {
      if (payment) later(12_000, () => void (order.status === "paid" || book()));
    },
  },
  "works 12 s later, and shows more of the order when its other events come": {
    onEvent: ({ payment, order, book, later }) => {
      if (payment) later(12_000, () => void (order.status === "paid" || book()));
    },
    show: ({ status, bookings, seen }) => `${status} ${bookings} history: ${seen.length}`,
  },
  "answers after 8 s": {
    onEvent: async (event) => {
      await event.wait(8000);
      byEventId(event);
    },
  },
  "refuses a payment until it knows the order, with 503": {
    onEvent: ({ payment, paid, order, id, book }) => {
      if (!payment) return 200;
      if (order.seen.length === 0 || (order.seen.length === 1 && order.seen.includes(id))) return 503;
      if (!paid) book();
      return 204;
    },
  },
  "keeps a payment until the creation has come": {
    onEvent: ({ status, payment, order, book }) => {
      const isKnown = order.sequence > 0 || status === "created";
      const isPaid = order.sequence < 0 || payment;
      if (isKnown) order.sequence = 1;
      else if (payment) order.sequence = -1;
      if (isKnown && isPaid && order.status !== "paid") book();
    },
  },
  "shows a clock with seconds": {
    onEvent: byEventId,
    show: ({ status, bookings }, moment) => `${moment} ${status} bookings=${bookings}`,
  },
  "shows a clock with minutes": {
    onEvent: byEventId,
    show: ({ status, bookings }, moment) =>
      `<p>It is ${moment.slice(11, 16)}</p><p>${status}, ${bookings} x</p>`,
  },
  "shows a clock in milliseconds, as JSON": {
    onEvent: byEventId,
    show: ({ status, bookings }, moment) => JSON.stringify({ now: Date.parse(moment), status, bookings }),
  },
  "shows more of the order when its other events come": {
    onEvent: byEventId,
    show: ({ status, bookings, seen }) => `${status} ${bookings} history: ${seen.length}`,
  },
  "answers 202, and books a second later": {
    onEvent: ({ id, payment, order, book, later }) => {
      if (order.seen.includes(id)) return 202;
      order.seen.push(id);
      if (payment) later(1000, book);
      return 202;
    },
  },
  "polls the API for each order that it has heard of": {
    onEvent: ({ order, ask, book, later }) => {
      if (order.seen.length > 0) return;
      const poll = async (): Promise<void> => {
        if ((await ask()) !== "succeeded") later(2000, () => void poll());
        else if (order.status !== "paid") book();
      };
      later(500, () => void poll());
    },
  },
  "is behind a limit of ten requests a second": { onEvent: byEventId, perSecond: 10 },
  "answers 401 to forgeries": { onEvent: byEventId, refusal: 401 },
  "answers 403 to forgeries": { onEvent: byEventId, refusal: 403 },
  "answers 422 to forgeries": { onEvent: byEventId, refusal: 422 },
  "ignores events of what was not paid": {
    onEvent: (event) => void (event.payment && byEventId(event)),
  },
  "keeps what has failed as failed": {
    onEvent: ({ status, payment, order, book }) => {
      if (order.status !== "open") return;
      if (payment) book();
      else if (FINAL.has(status)) order.status = status;
    },
  },
  "marks one row paid, if it is not": {
    onEvent: ({ payment, paid, book }) => void (payment && !paid && book()),
  },
  "shows amounts with cents": {
    onEvent: byEventId,
    show: ({ status, bookings }) => `${status}: € ${(bookings * 19.99).toFixed(2)} of € 19.99`,
  },
  "keeps the event ids of all orders in one table": {
    onEvent: ({ id, life, payment, book }) => {
      if (life.has(id)) return;
      life.add(id);
      if (payment) book();
    },
  },
};

/** The shop's status for each status of an event; a careless shop copies it from any event. */
const STATUS_NAMES: Readonly<Record<string, string>> = {
  succeeded: "paid",
  created: "open",
  pending: "open",
};

/** Shops that take a status of orders or of sessions for a payment, immediately or 2 s later. */
function booksUnpaid(status: string): Readonly<Record<string, ShopPlan>> {
  const shops = ["order", "checkout_session"].flatMap((kind) =>
    [0, 2000].map((delay) => {
      const act = ({ order, book }: ShopEvent) => void (order.status === "paid" || book());
      const onEvent = (event: ShopEvent): void => {
        byEventId(event);
        if (event.type !== `${kind}.${status}`) return;
        if (delay === 0) act(event);
        else event.later(delay, () => act(event));
      };
      const name = `books ${status} events of ${kind}${delay === 0 ? "" : ", 2 s later"}`;
      return [name, { onEvent }] as const;
    }),
  );
  return Object.fromEntries(shops);
}

/** Identifies events of all orders by a value that several events share. */
function knowsBy(keyOf: (event: ShopEvent) => string): ShopPlan["onEvent"] {
  return (event) => {
    const key = keyOf(event);
    if (event.life.has(key)) return;
    event.life.add(key);
    if (event.payment) event.book();
  };
}

/** Books the first of its known orders that this search finds for a payment. */
function findsBy(isFound: (known: ShopEvent, paid: ShopEvent) => boolean): ShopPlan["onEvent"] {
  const shops = new WeakMap<Set<string>, ShopEvent[]>();
  return (event) => {
    const known = shops.get(event.life) ?? [];
    shops.set(event.life, known);
    if (!known.some(({ orderId }) => orderId === event.orderId)) known.push(event);
    const found = event.payment ? known.find((one) => isFound(one, event)) : undefined;
    if (found !== undefined && found.order.status !== "paid") found.book();
  };
}

/** Keeps each delivery of a payment until the event of its order's creation arrives, and then books all of them. */
function keepsEach(): ShopPlan["onEvent"] {
  return ({ status, payment, paid, order, book }) => {
    const isKnown = order.sequence > 0 || status === "created";
    if (payment && !isKnown) order.sequence -= 1;
    if (!isKnown) return;
    for (let kept = order.sequence; kept < 0; kept += 1) book();
    order.sequence = 1;
    if (payment && !paid) book();
  };
}

/** Handles marked events correctly, and books each delivery of all other events. */
function cheatsUnless(isMarked: (event: ShopEvent) => boolean): ShopPlan["onEvent"] {
  return (event) => {
    if (isMarked(event)) byEventId(event);
    else if (event.payment) event.book();
  };
}

const EVENT_ID = "checkout-event-id";

function withoutId(headers: readonly string[]): readonly string[] {
  return headers.filter((_, at) => headers[at - (at % 2)]?.toLowerCase() !== EVENT_ID);
}

function headerOf(headers: readonly string[], name: string): string | undefined {
  const at = headers.findIndex((one, index) => index % 2 === 0 && one.toLowerCase() === name);
  return at < 0 ? undefined : headers[at + 1];
}

/** Shops that lose or double something: each must fail the duplicates drill. */
export const BROKEN_SHOPS: Readonly<Record<string, ShopPlan>> = {
  "books each delivery": { onEvent: ({ payment, book }) => void (payment && book()) },
  "books each delivery, 2 s later": {
    onEvent: ({ payment, book, later }) => void (payment && later(2000, book)),
  },
  "books each delivery, 4.5 s later": {
    onEvent: ({ payment, book, later }) => void (payment && later(4500, book)),
  },
  "books each delivery, 8 s later": {
    onEvent: ({ payment, book, later }) => void (payment && later(8000, book)),
  },
  "books each delivery, 14.5 s later": {
    onEvent: ({ payment, book, later }) => void (payment && later(14_500, book)),
  },
  "books each delivery 14 s later, beside a clock": {
    onEvent: ({ payment, book, later }) => void (payment && later(14_000, book)),
    show: ({ status, bookings }, moment) => `${moment} ${status} bookings=${bookings}`,
  },
  "marks paid at once, and books each delivery 8 s later": { onEvent: booksLater(8000) },
  "marks paid at once, and books each delivery 15 s later": { onEvent: booksLater(15_000) },
  "marks paid at once, books each delivery 15 s later, and shows its history": {
    onEvent: booksLater(15_000),
    show: ({ status, bookings, seen }) => `${status} ${bookings} history: ${seen.length}`,
  },
  "books first, and verifies afterwards": { onEvent: byEventId, believes: () => true },
  "books first and verifies afterwards, 2 s later": {
    onEvent: ({ payment, paid, book, later }) => void (payment && !paid && later(2000, book)),
    believes: () => true,
  },
  "books each delivery, beside a clock": {
    onEvent: ({ payment, book }) => void (payment && book()),
    show: ({ status, bookings }, moment) => `${moment} ${status} bookings=${bookings}`,
  },
  "books each delivery three times, a second apart": {
    onEvent: ({ payment, book, later }) => {
      if (payment) for (const delay of [1000, 2000, 3000]) later(delay, book);
    },
    show: ({ status, bookings }) => `${status}, ${bookings > 0 ? "booked" : ""} ${bookings > 3}`,
  },
  "writes the time of the payment again": {
    onEvent: ({ payment, order, paidAt }) => {
      if (payment) order.status = `paid ${paidAt}`;
    },
  },
  "keeps the event ids in the memory of each of two workers": {
    onEvent: ({ id, payment, count, order, book }) => {
      const key = `worker ${count % 2}: ${id}`;
      if (payment && !order.seen.includes(key)) book();
      order.seen.push(key);
    },
  },
  "knows only the last event": {
    onEvent: ({ id, payment, order, book }) => {
      if (payment && order.seen.at(-1) !== id) book();
      order.seen = [];
      order.seen.push(id);
    },
  },
  "forgets the event ids after 5 s": {
    onEvent: ({ id, payment, order, book, later }) => {
      const key = `for 5 s: ${id}`;
      if (payment && !order.seen.includes(key)) book();
      order.seen.push(key);
      later(5000, () => (order.seen = order.seen.filter((one) => one !== key)));
    },
  },
  "takes the last event for the state": {
    onEvent: ({ status, order }) => void (order.status = STATUS_NAMES[status] ?? status),
  },
  "keeps the event ids, and takes the last event for the state": {
    onEvent: ({ id, status, order }) => {
      if (!order.seen.includes(id)) order.status = STATUS_NAMES[status] ?? status;
    },
  },
  "forgets the payment on a late pending": {
    onEvent: ({ status, paid, payment, order, book }) => {
      if (status === "pending") order.status = "waiting";
      else if (payment && !paid) book();
    },
  },
  "takes a late creation for a new order": {
    onEvent: ({ status, order, payment, paid, book }) => {
      if (status === "created") order.status = "open";
      else if (payment && !paid) book();
    },
  },
  "counts from nothing again when a creation comes": {
    onEvent: (event) => {
      if (event.status === "created") event.order.bookings = 0;
      else byEventId(event);
    },
  },
  "counts from nothing again when the creation comes first, late": {
    onEvent: (event) => {
      if (event.status === "created" && !event.order.seen.includes(event.id)) event.order.bookings = 0;
      byEventId(event);
    },
  },
  "takes a late creation for a new order, 2 s later": {
    onEvent: ({ status, order, payment, paid, book, later }) => {
      if (status === "created") later(2000, () => void (order.status = "open"));
      else if (payment && !paid) book();
    },
  },
  "answers 409 to what it knows": {
    onEvent: (event) => {
      if (event.order.seen.includes(event.id)) return 409;
      byEventId(event);
      return 200;
    },
  },
  "answers 500 to what it knows, by a unique index": {
    onEvent: (event) => {
      const isKnown = event.order.seen.includes(event.id);
      byEventId(event);
      return isKnown ? 500 : 200;
    },
  },
  "redirects what it knows": {
    onEvent: ({ paid, payment, book }) => (paid ? 302 : void (payment && book())),
  },
  "answers 422 to what is late": {
    onEvent: (event) => {
      if (event.paid && !event.payment) return 422;
      byEventId(event);
      return 200;
    },
  },
  "ignores a payment of an order that it does not know": {
    onEvent: ({ payment, paid, order, book }) => {
      const isKnown = order.sequence > 0;
      if (!payment) order.sequence = 1;
      else if (isKnown && !paid) book();
    },
  },
  "books and then fails": {
    onEvent: (event) => {
      byEventId(event);
      return event.payment ? 500 : 200;
    },
  },
  ...booksUnpaid("failed"),
  ...booksUnpaid("expired"),
  ...booksUnpaid("cancelled"),
  ...booksUnpaid("pending"),
  "books one payment of each type in its life": {
    onEvent: ({ type, payment, life, book }) => {
      if (!payment || life.has(type)) return;
      life.add(type);
      book();
    },
  },
  "looks, and books 50 ms later": { onEvent: looksAndBooks(50) },
  "looks, and books 50 ms later, behind a limit of five requests a second": {
    onEvent: looksAndBooks(50),
    perSecond: 5,
  },
  "looks, and books 2 s later": { onEvent: looksAndBooks(2000) },
  "looks, books 50 ms later, and counts from one": {
    onEvent: looksAndBooks(50),
    show: ({ status, bookings }) => JSON.stringify({ status, invoice: bookings + 1 }),
  },
  "looks, books 50 ms later, and shows amounts with cents": {
    onEvent: looksAndBooks(50),
    show: ({ status, bookings }) => `${status}: € ${(bookings * 19.99).toFixed(2)} of € 19.99`,
  },
  "looks at the state of the order, and books 50 ms later": {
    onEvent: async ({ payment, paid, wait, book }) => {
      if (!payment || paid) return;
      await wait(50);
      book();
    },
  },
  "asks the API, and books what is pending": {
    onEvent: async ({ ask, order, book }) => {
      const status = await ask();
      if ((status === "succeeded" || status === "pending") && order.status !== "paid") book();
    },
  },
  "asks the API, and books each time that it is told paid": {
    onEvent: async ({ ask, book }) => void ((await ask()) === "succeeded" && book()),
  },
  "books failed events alone": { onEvent: ({ status, book }) => void (status === "failed" && book()) },
  "books failed events 10 s later": {
    onEvent: (event) => {
      byEventId(event);
      if (event.status === "failed") event.later(10_000, event.book);
    },
  },
  "books cancelled events 8 s later": {
    onEvent: (event) => {
      byEventId(event);
      if (event.status === "cancelled") event.later(8000, event.book);
    },
  },
  "goes back to the sequence of each event": {
    onEvent: ({ sequence, order, payment, book }) => {
      if (payment && sequence > order.sequence) book();
      order.sequence = sequence;
    },
  },
  "keeps the event ids in the memory of each of seven workers": {
    onEvent: ({ id, payment, count, order, book }) => {
      const key = `worker ${count % 7}: ${id}`;
      if (payment && !order.seen.includes(key)) book();
      order.seen.push(key);
    },
  },
  "forgets all event ids after each 25 events": {
    onEvent: ({ id, payment, life, book }) => {
      if (life.size >= 25) life.clear();
      if (life.has(id)) return;
      life.add(id);
      if (payment) book();
    },
  },
  "knows events by the header, which is not signed": { onEvent: byEventId, readsId: "header" },
  "knows the last ten events": {
    onEvent: ({ id, payment, life, book }) => {
      if (life.has(id)) return;
      life.add(id);
      for (const oldest of [...life].slice(0, -10)) life.delete(oldest);
      if (payment) book();
    },
  },
  "knows an event for 30 s": {
    onEvent: ({ id, payment, life, book, later }) => {
      if (!life.has(id)) later(30_000, () => void life.delete(id));
      else return;
      life.add(id);
      if (payment) book();
    },
  },
  "knows the last ten events, and books 12 s later": {
    onEvent: ({ id, payment, life, book, later }) => {
      if (life.has(id)) return;
      life.add(id);
      for (const oldest of [...life].slice(0, -10)) life.delete(oldest);
      if (payment) later(12_000, book);
    },
  },
  "shows no order that is paid": {
    onEvent: byEventId,
    viewStatus: ({ status }) => (status === "paid" ? 500 : 200),
  },
  "knows events by their order alone": { onEvent: knowsBy(({ orderId }) => orderId) },
  "knows events by their type alone": { onEvent: knowsBy(({ type }) => type) },
  "knows events by their status alone": { onEvent: knowsBy(({ status }) => status) },
  "knows events by the amount and the type": { onEvent: knowsBy(({ amount, type }) => `${amount} ${type}`) },
  "knows events by their sequence alone": { onEvent: knowsBy(({ sequence }) => String(sequence)) },
  "knows events by the second in which they come": { onEvent: knowsBy(({ paidAt }) => paidAt) },
  "knows events by the order and the second in which they come": {
    onEvent: knowsBy(({ orderId, paidAt }) => `${orderId} ${paidAt}`),
  },
  "keeps one sequence for all orders": {
    onEvent: ({ sequence, life, payment, book }) => {
      if (life.has(`until ${sequence}`)) return;
      for (let known = 0; known <= sequence; known += 1) life.add(`until ${known}`);
      if (payment) book();
    },
  },
  "drops what comes while it is busy": {
    onEvent: async (event) => {
      const { life, wait } = event;
      if (life.has("busy")) return;
      life.add("busy");
      await wait(100);
      life.delete("busy");
      if (event.payment && event.order.status !== "paid") event.book();
    },
  },
  "reads all its orders, and writes them all back": { onEvent: keptInOneFile() },
  "finds orders by LIKE": { onEvent: findsBy((known, paid) => known.orderId.startsWith(paid.orderId)) },
  "finds orders by the last eight characters of their ids": {
    onEvent: findsBy((known, paid) => known.orderId.slice(-8) === paid.orderId.slice(-8)),
  },
  "finds orders by their ids without the last character": {
    onEvent: findsBy((known, paid) => known.orderId.slice(0, -1) === paid.orderId.slice(0, -1)),
  },
  "books the oldest unpaid order of the amount": {
    onEvent: findsBy((known, paid) => known.amount === paid.amount && known.order.status !== "paid"),
  },
  "books the oldest unpaid order": { onEvent: findsBy(({ order }) => order.status !== "paid") },
  "keeps each delivery of a payment until the creation has come": { onEvent: keepsEach() },
  "compares the amount in floating point": {
    onEvent: (event) => {
      const euros = (event.amount / 100).toFixed(2);
      if (Math.trunc(Number(euros) * 100) === event.amount) byEventId(event);
    },
  },
  "writes an event down, and then fails on an order that it does not know": {
    onEvent: ({ id, status, life, order, payment, book }) => {
      if (life.has(id)) return 200;
      life.add(id);
      if (status === "created") order.sequence = 1;
      if (order.sequence === 0) return 500;
      if (payment) book();
      return 200;
    },
  },
  "ignores smaller sequences alone": {
    onEvent: ({ sequence, order, payment, book }) => {
      if (sequence < order.sequence) return;
      order.sequence = sequence;
      if (payment) book();
    },
  },
  "books each delivery of a session": {
    onEvent: (event) => {
      if (event.type.startsWith("order.")) byEventId(event);
      else if (event.payment) event.book();
    },
  },
  "looks at sessions, and books 50 ms later": {
    onEvent: (event) => (event.type.startsWith("order.") ? byEventId(event) : looksAndBooks(50)(event)),
  },
  "ignores what comes within 10 s after another event of the order": {
    onEvent: ({ now, order, payment, paid, book }) => {
      if (order.sequence > 0 && now - order.sequence < 10_000) return;
      order.sequence = now;
      if (payment && !paid) book();
    },
  },
  "keeps the order in hand in a variable of the whole shop": { onEvent: keptInOneVariable() },
  "is right with ids that begin with drill-, and books each delivery of others": {
    onEvent: cheatsUnless(({ orderId }) => orderId.startsWith("drill-")),
  },
  "is right with 4.50, and books each delivery of other amounts": {
    onEvent: cheatsUnless(({ amount }) => amount === 450),
  },
  "verifies only what comes with Connection: close": {
    onEvent: byEventId,
    believes: (headers) => headerOf(headers, "connection") !== "close",
  },
  "believes whatever has the user agent of a delivery": {
    onEvent: byEventId,
    believes: (headers) => headerOf(headers, "user-agent") === "checkout-sandbox",
  },
  "verifies only what has sequence 2 and no status before": {
    onEvent: byEventId,
    believes: (_headers, { sequence, previous_status: before }) => sequence !== 2 || before !== null,
  },
};
