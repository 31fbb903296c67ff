import type { HttpRequest, HttpResponse } from "../../src/world.ts";
import type { openWebhookSite } from "./webhook-site.ts";

type Site = Awaited<ReturnType<typeof openWebhookSite>>;

/** The request of a returning customer, as the code of a page receives it. */
type ReturnVisit = {
  readonly method: string;
  readonly query: URLSearchParams;
  /** The fields of a posted form. */
  readonly form: URLSearchParams;
  readonly header: (name: string) => string | undefined;
  /** The number of the visit of this order, from 1. */
  readonly count: number;
  /** Marks the order paid, and books it unless it is booked already. */
  readonly book: () => void;
  /** Books the order, even if it is booked already. */
  readonly bookAgain: () => void;
  /** Marks the order as waiting for its payment. */
  readonly wait: () => void;
  /** Asks v1 for the status of the session in the address. */
  readonly ask: () => Promise<string>;
  /** Whether the shop has marked the order paid. */
  readonly isPaid: boolean;
  /** Whether the session in the address is the session of the order. */
  readonly isOfOrder: boolean;
  /** Runs an action after a delay. */
  readonly later: (milliseconds: number, act: () => void) => void;
};

/** A page's reaction to a visit; the status is 200 by default. */
export type ReturnPage = (
  visit: ReturnVisit,
) => Partial<HttpResponse> | void | Promise<Partial<HttpResponse> | void>;

/** An order; `isBlind`: its webhook books it even if it is booked already. */
type BookedOrder = { readonly status: "open" | "paid"; readonly bookings: number; readonly isBlind: boolean };
const UNPAID: BookedOrder = { status: "open", bookings: 0, isBlind: false };

const SHOP = "http://localhost:3000";
const OK: HttpResponse = { status: 200, headers: {}, body: "thanks" };

/** The parts of a shop that a return page uses. */
type ReturnShop = Pick<Site, "statusOf"> & {
  readonly clock: Site["harness"]["clock"];
  readonly sessionOf: (orderId: string) => string | undefined;
  readonly isPaid: (orderId: string) => boolean;
  readonly pay: (orderId: string) => void;
  readonly bookAgain: (orderId: string) => void;
  readonly wait: (orderId: string) => void;
};

/** Returns a function that answers customers who return to a shop. */
export function takeVisits(
  shop: ReturnShop,
): (page: ReturnPage, request: HttpRequest) => Promise<HttpResponse> {
  const visits = new Map<string, number>();
  return async (page, { method, target, rawHeaders, body }) => {
    const { searchParams: query } = new URL(target, SHOP);
    const order = query.get("order_id") ?? "";
    const count = (visits.get(order) ?? 0) + 1;
    visits.set(order, count);
    const visit: ReturnVisit = {
      method,
      query,
      form: new URLSearchParams(Buffer.from(body).toString("utf8")),
      header: (name) => {
        const at = rawHeaders.findIndex((one, index) => index % 2 === 0 && one.toLowerCase() === name);
        return at < 0 ? undefined : rawHeaders[at + 1];
      },
      count,
      book: () => shop.pay(order),
      bookAgain: () => shop.bookAgain(order),
      wait: () => shop.wait(order),
      ask: () => shop.statusOf(query.get("session_id") ?? ""),
      isPaid: shop.isPaid(order),
      isOfOrder: shop.sessionOf(order) === query.get("session_id"),
      later: (milliseconds, act) => shop.clock.after(milliseconds, act),
    };
    return { ...OK, ...(await page(visit)) };
  };
}

/**
 * Opens a shop that receives webhooks at `/hooks` and customers at `/thanks`, and shows orders at `/orders/{order_id}`.
 */
export function openReturnShop(site: Pick<Site, "harness" | "statusOf">, page: ReturnPage): void {
  const { harness } = site;
  const orders = new Map<string, BookedOrder>();
  const sessions = new Map<string, string>();
  const change = (orderId: string, of: (order: BookedOrder) => BookedOrder): void =>
    void orders.set(orderId, of(orders.get(orderId) ?? UNPAID));
  const pay = (order: BookedOrder): BookedOrder =>
    order.status === "paid" ? order : { ...order, status: "paid", bookings: order.bookings + 1 };
  const visit = takeVisits({
    clock: harness.clock,
    statusOf: site.statusOf,
    sessionOf: (orderId) => sessions.get(orderId),
    isPaid: (orderId) => orders.get(orderId)?.status === "paid",
    pay: (orderId) => change(orderId, pay),
    bookAgain: (orderId) =>
      change(orderId, ({ bookings }) => ({ status: "paid", bookings: bookings + 1, isBlind: true })),
    wait: (orderId) => change(orderId, (order) => ({ ...order, status: "open" })),
  });
  const takeWebhook = ({ body }: HttpRequest): HttpResponse => {
    const { type, data } = JSON.parse(Buffer.from(body).toString("utf8")) as {
      readonly type: string;
      readonly data: { readonly id: string; readonly order_id: string };
    };
    sessions.set(data.order_id, data.id);
    change(data.order_id, (order) => {
      if (!type.endsWith(".succeeded")) return order;
      return order.isBlind ? { ...order, bookings: order.bookings + 1 } : pay(order);
    });
    return OK;
  };
  const answer = (request: HttpRequest): Promise<HttpResponse> => {
    const { pathname } = new URL(request.target, SHOP);
    if (pathname === "/hooks") return Promise.resolve(takeWebhook(request));
    if (pathname === "/thanks") return visit(page, request);
    const order = orders.get(pathname.slice("/orders/".length));
    const shown = JSON.stringify({ status: order?.status, bookings: order?.bookings });
    return Promise.resolve(order === undefined ? { ...OK, status: 404 } : { ...OK, body: shown });
  };
  harness.occupy(3000, { answer, refuse: () => ({ ...OK, status: 400 }) });
}

const believesIf =
  (isBelieved: (visit: ReturnVisit) => boolean): ReturnPage =>
  (visit) => {
    if (isBelieved(visit)) visit.book();
  };

const asks: ReturnPage = async ({ ask, book, isOfOrder }) => {
  if (isOfOrder && (await ask()) === "succeeded") book();
};

/** Pages that do not take a return for a payment. */
export const GOOD_PAGES: Readonly<Record<string, ReturnPage>> = {
  "waits for the webhook": () => undefined,
  "asks the API": asks,
  "asks the API a second later": (visit) => visit.later(1000, () => void asks(visit)),
  "polls the API": (visit) => {
    for (const second of [1, 2, 3, 4]) visit.later(second * 1000, () => void asks(visit));
  },
  "refuses a POST": ({ method }) => ({ status: method === "POST" ? 405 : 200 }),
  "redirects to a page of its own": ({ query }) => ({
    status: 303,
    headers: { Location: `/orders/${query.get("order_id") ?? ""}` },
  }),
  "thanks whoever comes with a status": ({ query }) => ({ body: query.get("status") ?? "waiting" }),
};

const FINAL: ReadonlySet<string> = new Set(["succeeded", "failed", "cancelled", "expired"]);
const FAILED: ReadonlySet<string> = new Set(["failed", "cancelled", "expired"]);

/** Pages that take a return for a payment: each must fail the browser-return drill. */
export const BROKEN_PAGES: Readonly<Record<string, ReturnPage>> = {
  "believes a visit": believesIf(() => true),
  "believes a visit 4 s later": ({ later, book }) => later(4000, book),
  "asks, and does not look at the answer": async ({ ask, book }) => {
    await ask();
    book();
  },
  "believes a visit from another site": believesIf(({ header }) => header("sec-fetch-site") === "cross-site"),
  "believes a visit of a browser, and not one without a User-Agent": believesIf(
    ({ header }) => header("user-agent") !== undefined,
  ),
  "believes a visit with the headers of a browser": believesIf(
    ({ header }) => header("sec-fetch-mode") === "navigate",
  ),
  "believes a visit with a referer": believesIf(({ header }) => header("referer") !== undefined),
  "believes status=succeeded": believesIf(({ query }) => query.get("status") === "succeeded"),
  "believes paid=true": believesIf(({ query }) => query.get("paid") === "true"),
  "believes status=succeeded, 3 s later": ({ query, later, book }) =>
    void (query.get("status") === "succeeded" && later(3000, book)),
  "believes status=paid": believesIf(({ query }) => query.get("status") === "paid"),
  "believes status=success": believesIf(({ query }) => query.get("status") === "success"),
  "believes any status": believesIf(({ query }) => query.has("status")),
  "believes redirect_status=succeeded": believesIf(
    ({ query }) => query.get("redirect_status") === "succeeded",
  ),
  "believes trade_status=TRADE_SUCCESS": believesIf(
    ({ query }) => query.get("trade_status") === "TRADE_SUCCESS",
  ),
  "believes trade_status=TRADE_SUCCESS in a form": believesIf(
    ({ form }) => form.get("trade_status") === "TRADE_SUCCESS",
  ),
  "believes result_code=SUCCESS": believesIf(({ query }) => query.get("result_code") === "SUCCESS"),
  "believes success=1": believesIf(({ query }) => query.get("success") === "1"),
  "believes paid=1": believesIf(({ query }) => query.get("paid") === "1"),
  "believes the Origin of a form": believesIf(({ header }) => header("origin") !== undefined),
  "believes a visit without a session": believesIf(({ query }) => !query.has("session_id")),
  "believes a visit from no other page": believesIf(({ header }) => header("referer") === undefined),
  "believes a visit that is reloaded": believesIf(({ header }) => header("cache-control") !== undefined),
  "believes a POST": believesIf(({ method }) => method === "POST"),
  "believes the status in a form": believesIf(({ form }) => form.get("status") === "succeeded"),
  "believes the order in a form": believesIf(({ form }) => form.has("order_id")),
  "believes a visit from the same site": believesIf(
    ({ header }) => header("sec-fetch-site") === "same-origin",
  ),
  "believes a visit with a referer of the shop": believesIf(
    ({ header }) => header("referer")?.startsWith(SHOP) === true,
  ),
  "believes the second visit": believesIf(({ count }) => count === 2),
  "believes the third visit": believesIf(({ count }) => count === 3),
  "asks about the session in the address, and books the order in it": async ({ ask, book }) => {
    if ((await ask()) === "succeeded") book();
  },
  "asks, and takes pending for paid": async ({ ask, book, isOfOrder }) => {
    if (isOfOrder && ["pending", "succeeded"].includes(await ask())) book();
  },
  "asks, and takes for paid what has not failed": async ({ ask, book, isOfOrder }) => {
    if (isOfOrder && !FAILED.has(await ask())) book();
  },
  "asks, and takes for paid what does not change any more": async ({ ask, book, isOfOrder }) => {
    if (isOfOrder && FINAL.has(await ask())) book();
  },
  "asks and books, and books again when the webhook comes": async ({ ask, bookAgain, isOfOrder, isPaid }) => {
    if (!isPaid && isOfOrder && (await ask()) === "succeeded") bookAgain();
  },
  "asks, and books at each visit": async ({ ask, book, bookAgain, isOfOrder, isPaid }) => {
    if (isOfOrder && (await ask()) === "succeeded") (isPaid ? bookAgain : book)();
  },
  "asks, and books again 2 s later when it is reloaded": async (visit) => {
    const { ask, book, bookAgain, isOfOrder, isPaid, later } = visit;
    if (!isOfOrder || (await ask()) !== "succeeded") return;
    if (isPaid) later(2000, bookAgain);
    else book();
  },
  "writes that it waits for the payment, at each visit": ({ wait }) => wait(),
  "believes a visit 14 s later": ({ later, book }) => later(14_000, book),
  // As with a framework's sessions, each visitor has a session, and the shop takes every visitor with a session for a
  // customer.
  "believes status=succeeded of a visitor with a session": ({ query, header, book }) => {
    if (header("cookie") === undefined) return { headers: { "set-cookie": "sid=abc; Path=/; HttpOnly" } };
    if (query.get("status") === "succeeded") book();
    return undefined;
  },
};
