import { expect, test } from "vitest";
import { drillBrowserReturn, RETURN_TIME } from "../../src/client/drills/browser-return.ts";
import { english } from "../../src/core/language.ts";
import {
  judgeReturn,
  RETURN_CAUSES,
  type ReturnCause,
} from "../../src/core/readiness/drills/browser-return.ts";
import type { HttpResponse, OutboundRequest, OutboundResult } from "../../src/world.ts";
import {
  CONTROL,
  createDrillClock,
  idOf,
  ORIGIN,
  REFUSED,
  serveControl,
  type ControlAnswers,
  type ControlCallPoint,
} from "../support/drill-service.ts";

const SHOP = "http://localhost:3000";
const PAGE = `${SHOP}/thanks`;
/** The drilled order, the order that is paid meanwhile, and the order that is cancelled. */
const ORDERS = ["own", "other", "third"] as const;

type ShopOrder = { status: "open" | "paid"; bookings: number };

/** A customer who comes back, as a page gets it. */
type Visit = {
  readonly method: string;
  readonly query: URLSearchParams;
  readonly form: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly orderId: string;
  /** Which visit of this order it is, from 1. */
  readonly count: number;
  readonly order: ShopOrder;
  readonly book: () => void;
  readonly later: (milliseconds: number, act: () => void) => void;
  /** The status that v1 tells of the session in the address. */
  readonly ask: () => string | undefined;
  /** The status that v1 tells of the order. */
  readonly askOwn: () => string | undefined;
};

type Shop = {
  /** Answers a status or a whole answer, default 200. */
  readonly onVisit?: (visit: Visit) => number | Partial<HttpResponse> | void;
  /** Default: books an order that is not paid. */
  readonly onWebhook?: (visit: Pick<Visit, "order" | "book" | "later">) => void;
  /** The text of its view, or its status; default: status and number of bookings. */
  readonly show?: (visit: Pick<Visit, "order" | "later"> & { readonly now: number }) => string | number;
  /** How many attempts of the creation it answers with 429. */
  readonly limited?: number;
  /** How many attempts of the payment it answers with 429. */
  readonly limitedPayment?: number;
};

type Plan = {
  readonly shop?: Shop;
  readonly isOwn?: boolean;
  readonly others?: 0 | 1 | 2;
  readonly refused?: ControlCallPoint;
  /** Interrupts the drill at this line of its course. */
  readonly interruptedAt?: string;
};

/** Runs a drill against a shop and a service in memory, and writes down what it does and when. */
async function runDrill({ shop = {}, isOwn = true, others = 2, refused, interruptedAt }: Plan = {}) {
  const clock = createDrillClock();
  const course: string[] = [];
  const interrupt = new AbortController();
  const requests: OutboundRequest[] = [];
  const note = (line: string): void => {
    course.push(`${clock.now() / 1000} ${line}`);
    if (line === interruptedAt) interrupt.abort();
  };
  const drilled = ORDERS.map((orderId, at) => ({ id: idOf(at + 1), orderId }));
  const nameOf = (id: string): string => drilled.find((one) => one.id === id)?.orderId ?? id;
  const orders = new Map<string, ShopOrder>();
  const statuses = new Map<string, string>(ORDERS.map((orderId) => [orderId, "created"]));
  const visits = new Map<string, number>();
  const retrieves: string[] = [];
  let attempts = 0;
  let isTold = shop.limited === undefined;

  const orderOf = (orderId: string): ShopOrder => {
    const order = orders.get(orderId) ?? { status: "open", bookings: 0 };
    orders.set(orderId, order);
    return order;
  };
  const bookOf = (order: ShopOrder) => (): void => {
    Object.assign(order, { status: "paid", bookings: order.bookings + 1 });
  };
  const statusOf = (id: string): string | undefined => {
    const status = statuses.get(nameOf(id));
    if (status === "succeeded") retrieves.push(id);
    return status;
  };
  const tellPaid = (): void => {
    if (!isTold) return;
    for (const [orderId, status] of statuses) {
      const order = orderOf(orderId);
      const book = bookOf(order);
      if (status !== "succeeded") continue;
      if (shop.onWebhook !== undefined) shop.onWebhook({ order, book, later: clock.after });
      else if (order.status === "open") book();
    }
  };
  const attempt = {
    number: 1,
    startedAt: 0,
    finishedAt: 0,
    milliseconds: 1,
    url: `${SHOP}/hooks`,
    address: null,
    status: 429,
    error: null,
    fault: null,
    headers: {},
    bodySha256: "",
    answer: null,
    facts: null,
    nextAt: null,
    by: null,
  };
  const delivery = {
    id: idOf(800),
    endpointId: idOf(900),
    type: "order.created",
    checkoutId: idOf(1),
    cause: "event" as const,
    state: "due" as const,
    tries: 1,
    nextAt: null,
    createdAt: 0,
    fault: null,
  };
  const answers: ControlAnswers = {
    openLease: ({ drill, timeoutMs }) => {
      note(`lease of ${drill} for ${timeoutMs / 1000} s`);
      return { id: idOf(901), storeId: idOf(902), apiKey: null };
    },
    endLease: () => {
      note("end of the lease");
      tellPaid();
      return {};
    },
    pay: ({ outcome, leaseId }, id) => {
      expect(leaseId).toBe(idOf(901));
      note(`pay ${nameOf(id)}: ${outcome}`);
      statuses.set(nameOf(id), outcome === "declined" ? "pending" : outcome);
      if (outcome === "succeeded" && id === idOf(1) && shop.limitedPayment !== undefined) isTold = false;
      return { id, status: "pending", late: false, moves: [] };
    },
    listRetrieves: () => ({ paidCheckouts: [...retrieves] }),
    listDeliveries: (body) => {
      expect(body).toEqual({ checkoutId: idOf(1), state: "due" });
      const newer = { ...delivery, eventId: idOf(702), attempts: [] };
      const deliveries = isTold ? [] : [newer, { ...delivery, eventId: idOf(701), attempts: [attempt] }];
      return { deliveries, nextBefore: null };
    },
    deliverForDrill: ({ eventId }) => {
      attempts += 1;
      const isLimited = attempts <= (shop.limited ?? shop.limitedPayment ?? 0);
      note(`→ event ${eventId.slice(-3)}: ${isLimited ? 429 : 200}`);
      isTold = !isLimited;
      if (isTold) tellPaid();
      return { subject: "a subject", answers: [{ status: isLimited ? 429 : 200, error: null }] };
    },
  };
  const control = serveControl(answers, refused);

  const visit = (request: OutboundRequest): OutboundResult => {
    const { searchParams: query, search } = new URL(request.url);
    const orderId = query.get("order_id") ?? "";
    const session = query.get("session_id") ?? "";
    const count = (visits.get(orderId) ?? 0) + 1;
    visits.set(orderId, count);
    requests.push(request);
    const shown = search.replace(/[0-9a-f-]{36}/, (id) => nameOf(id));
    note(`${request.method} ${shown}`);
    const order = orderOf(orderId);
    const said = shop.onVisit?.({
      method: request.method,
      query,
      form: new URLSearchParams(String(request.body ?? "")),
      headers: request.headers,
      orderId,
      count,
      order,
      book: bookOf(order),
      later: clock.after,
      ask: () => statusOf(session),
      askOwn: () => statusOf(drilled.find((one) => one.orderId === orderId)?.id ?? ""),
    });
    const answer = typeof said === "number" ? { status: said } : { ...said };
    const { status = 200, headers = {} } = answer;
    const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
    return { ok: true, status, headers: Object.fromEntries(lower), body: "" };
  };
  const view = ({ url }: OutboundRequest): OutboundResult => {
    const orderId = url.slice(`${SHOP}/orders/`.length);
    const order = orderOf(orderId);
    const isUnknown = shop.limited !== undefined && !isTold;
    const now = clock.now();
    const shown = isUnknown
      ? 404
      : (shop.show?.({ order, later: clock.after, now }) ?? `${order.status} ${order.bookings}`);
    const [status, body] = typeof shown === "number" ? [shown, ""] : [200, shown];
    return { ok: true, status, headers: {}, body };
  };
  const send = (request: OutboundRequest): Promise<OutboundResult> => {
    if (!request.url.startsWith(SHOP)) return control.send(request);
    if (request.signal?.aborted === true)
      return Promise.resolve({ ok: false, failure: "aborted", message: "interrupted" });
    return Promise.resolve(request.url.startsWith(PAGE) ? visit(request) : view(request));
  };
  let limits = 0;
  const [checkout, ...rest] = drilled;
  if (checkout === undefined) throw new Error("no order");
  const result = await drillBrowserReturn(
    { ...clock, send, run: () => Promise.reject(new Error("no command")) },
    CONTROL,
    {
      checkout,
      page: PAGE,
      isOwn,
      others: rest.slice(0, others),
      view: { from: { url: `${SHOP}/orders/{order_id}` }, paidWhen: /\bpaid\b/ },
      signal: interrupt.signal,
      onLimited: () => (limits += 1),
    },
  );
  return { result, course, calls: control.calls, requests, limits, endedAt: clock.now() / 1000 };
}

/** What the drill does with a shop that waits for the webhook, with the second at which it does it. */
const COURSE = [
  "1 GET ?order_id=own&session_id=own",
  "7 GET ?order_id=own&session_id=own&status=succeeded&paid=true&redirect_status=succeeded&trade_status=TRADE_SUCCESS",
  "7 GET ?order_id=own&session_id=own&status=paid&payment_status=paid&success=true&result=success&result_code=SUCCESS",
  "7 POST ?order_id=own&session_id=own",
  "7 GET ?order_id=own&session_id=own&status=success&state=completed&success=1&paid=1",
  "7 GET ?order_id=own&session_id=own",
  "7 GET ?order_id=own",
  "7 lease of browser_return for 126 s",
  "7 pay own: declined",
  "7 GET ?order_id=own&session_id=own",
  "7 pay other: succeeded",
  "7 GET ?order_id=own&session_id=other",
  "7 pay third: cancelled",
  "7 GET ?order_id=third&session_id=third",
  "7 end of the lease",
  "13 lease of browser_return for 126 s",
  "13 pay own: succeeded",
  "13 GET ?order_id=own&session_id=own",
  "19 end of the lease",
  "23 GET ?order_id=own&session_id=own",
];

test("the customer comes back in each way, before the payment, before the webhook and after it", async () => {
  const { course, endedAt, requests } = await runDrill();
  expect(course).toEqual(COURSE);
  expect(endedAt).toBe(26);
  expect(RETURN_TIME).toEqual({ totalMs: 30_000, waitMs: 26_000 });
  const fromPayment = [`${ORIGIN}/`, "cross-site", undefined];
  expect(
    requests.map(({ headers }) => [headers["Referer"], headers["Sec-Fetch-Site"], headers["Cache-Control"]]),
  ).toEqual(
    requests.map((_one, at) => {
      if (at === 4) return [`${SHOP}/`, "same-origin", undefined];
      return at === 5 ? [undefined, "none", "max-age=0"] : fromPayment;
    }),
  );
  for (const { method, headers, body } of requests) {
    const form = "application/x-www-form-urlencoded";
    const isPost = method === "POST";
    expect(headers["User-Agent"]).toMatch(/^Mozilla/);
    expect([headers["Origin"], headers["Content-Type"]]).toEqual(
      isPost ? [ORIGIN, form] : [undefined, undefined],
    );
    expect(body).toBe(
      isPost
        ? `order_id=own&session_id=${idOf(1)}&status=succeeded&paid=true&redirect_status=succeeded&trade_status=TRADE_SUCCESS`
        : undefined,
    );
  }
  const alone = await runDrill({ others: 0 });
  expect(alone.course).toEqual(COURSE.filter((line) => !/third|other/.test(line)));
});

test("where the sandbox refuses one of its calls, it ends with the reason", async () => {
  const { calls } = await runDrill();
  // Without a list of deliveries no event is refused by a rate limit.
  expect(calls.length).toBe(9);
  for (const refused of calls) {
    const { result, course } = await runDrill({ refused });
    const error = { code: "state_conflict", message: REFUSED };
    expect([refused, result]).toEqual([refused, { end: "refusal", status: 409, error }]);
    const acted = course.filter((line) => !line.endsWith("end of the lease"));
    expect([refused, acted]).toEqual([
      refused,
      COURSE.filter((line) => !line.endsWith("end of the lease")).slice(0, acted.length),
    ]);
  }
});

test("where it is interrupted nobody pays or comes back any more", async () => {
  for (const line of new Set(COURSE.map((one) => one.replace(/^\S+ /, "")))) {
    const { result, course } = await runDrill({ interruptedAt: line });
    const at = course.findIndex((one) => one.endsWith(` ${line}`));
    const after = course.slice(at + 1).filter((one) => !one.endsWith("end of the lease"));
    expect([line, result, after]).toEqual([line, { end: "interrupted" }, []]);
  }
});

/** The cause of each step that fails, and how long the drill waits, in seconds. */
type Shown = readonly [verdict: string, causes: Readonly<Record<string, ReturnCause>>, waits: number];
type Row = readonly [what: string, shop: Shop, shown: Shown, plan?: Plan];

/** The same cause in each of these steps. */
function each(cause: ReturnCause, ...steps: readonly string[]): Readonly<Record<string, ReturnCause>> {
  return Object.fromEntries(steps.map((step) => [step, cause]));
}

/** A return that is believed is believed after the payment too. */
const inBoth = (cause: ReturnCause) => each(cause, "return_otherwise", "return_before_webhook");
const UNREACHABLE = each("page_unreachable", "return_without_payment", "return_before_webhook");
const ALL_STEPS = [
  "before_the_return",
  "return_without_payment",
  "return_otherwise",
  "return_before_webhook",
  "after_the_webhook",
];
/** How late a shop books an order whose customer came back, and how that is seen. */
const LATE: readonly (readonly [seconds: number, causes: Shown[1], ends: number])[] = [
  [
    1.5,
    {
      ...each("believes_return", "return_without_payment", "return_before_webhook"),
      return_again: "books_twice",
    },
    12,
  ],
  [4, each("believes_return", "return_without_payment", "return_before_webhook"), 16],
  [8, inBoth("believes_other_return"), 20],
  [11, inBoth("believes_other_return"), 23],
  [14, each("paid_without_asking", "return_before_webhook"), 26],
  [17, each("paid_without_asking", "return_before_webhook"), 29],
];
const isPaidBy = (visit: Visit, ...wanted: readonly (string | undefined)[]) => wanted.includes(visit.ask());
const ROWS: readonly Row[] = [
  [
    "believes each return",
    { onVisit: ({ book }) => book() },
    [
      "failed",
      {
        return_without_payment: "believes_return",
        return_before_webhook: "believes_return",
        return_again: "books_twice",
      },
      9,
    ],
  ],
  [
    "believes a status in the address",
    { onVisit: ({ query, book }) => void (query.get("status") === "succeeded" && book()) },
    ["failed", inBoth("believes_other_return"), 18],
  ],
  [
    "believes another word for it",
    { onVisit: ({ query, book }) => void (query.get("payment_status") === "paid" && book()) },
    ["failed", inBoth("believes_other_return"), 18],
  ],
  [
    "believes a form",
    { onVisit: ({ form, book }) => void (form.get("paid") === "true" && book()) },
    ["failed", inBoth("believes_other_return"), 18],
  ],
  [
    "believes its own page",
    { onVisit: ({ headers, book }) => void (headers["Referer"] === `${SHOP}/` && book()) },
    ["failed", inBoth("believes_other_return"), 18],
  ],
  [
    "believes a page that is opened again",
    { onVisit: ({ headers, book }) => void (headers["Sec-Fetch-Site"] === "none" && book()) },
    ["failed", inBoth("believes_other_return"), 18],
  ],
  [
    "believes who names no session",
    { onVisit: ({ query, book }) => void (query.has("session_id") || book()) },
    ["failed", inBoth("believes_other_return"), 18],
  ],
  ...LATE.map(([seconds, causes, ends]): Row => [
    `believes a return, ${seconds} s later`,
    { onVisit: ({ later, book }) => later(seconds * 1000, book) },
    ["failed", causes, ends],
  ]),
  [
    "asks, and takes pending for paid",
    {
      onVisit: (visit) =>
        void (isPaidBy(visit, "succeeded", "pending") && visit.order.status === "open" && visit.book()),
    },
    ["failed", inBoth("believes_pending"), 18],
  ],
  [
    "asks, and takes cancelled for paid",
    {
      onVisit: (visit) =>
        void (
          isPaidBy(visit, "succeeded", "cancelled") &&
          visit.order.status === "open" &&
          visit.askOwn() !== "created" &&
          visit.askOwn() !== "pending" &&
          visit.book()
        ),
    },
    ["failed", inBoth("believes_final"), 18],
  ],
  [
    "asks about the session in the address",
    {
      onVisit: (visit) =>
        void (isPaidBy(visit, "succeeded") && visit.order.status === "open" && visit.book()),
    },
    ["failed", inBoth("mixes_orders"), 18],
  ],
  [
    "asks about its own session",
    {
      onVisit: ({ askOwn, order, book }) =>
        void (askOwn() === "succeeded" && order.status === "open" && book()),
    },
    ["passed", {}, 24],
  ],
  [
    "asks about its own session, without others",
    {
      onVisit: ({ askOwn, order, book }) =>
        void (askOwn() === "succeeded" && order.status === "open" && book()),
    },
    ["passed", {}, 24],
    { others: 0 },
  ],
  [
    "asks 3 s later",
    {
      onVisit: ({ askOwn, order, book, later }) =>
        later(3000, () => void (askOwn() === "succeeded" && order.status === "open" && book())),
    },
    ["passed", {}, 27],
  ],
  [
    "books when it was asked for, and by the webhook",
    {
      onVisit: ({ askOwn, order, book }) =>
        void (askOwn() === "succeeded" && order.status === "open" && book()),
      onWebhook: ({ book }) => book(),
    },
    ["failed", { return_again: "books_twice" }, 21],
  ],
  [
    "books at each visit of a paid order",
    { onVisit: ({ askOwn, book }) => void (askOwn() === "succeeded" && book()) },
    ["failed", { return_again: "books_twice" }, 21],
  ],
  [
    "books at each visit after the webhook",
    { onVisit: ({ order, book }) => void (order.status === "paid" && book()) },
    ["failed", { return_again: "books_twice" }, 23],
  ],
  [
    "books at each visit after the webhook, 2 s later",
    { onVisit: ({ order, book, later }) => void (order.status === "paid" && later(2000, book)) },
    ["failed", { return_again: "books_twice" }, 25],
  ],
  [
    "writes its own status at each visit",
    { onVisit: ({ order }) => void (order.status = "open") },
    ["failed", { return_again: "forgets_on_return" }, 23],
  ],
  [
    "believes a return after the payment",
    { onVisit: ({ count, orderId, book }) => void (orderId === "own" && count === 10 && book()) },
    ["failed", { return_before_webhook: "paid_without_asking" }, 24],
  ],
  ["books 5 s after the webhook", { onWebhook: ({ later, book }) => later(5000, book) }, ["passed", {}, 31]],
  [
    "books 12 s after the webhook",
    { onWebhook: ({ later, book }) => later(12_000, book) },
    ["passed", {}, 38],
  ],
  [
    "books 89 s after the webhook",
    { onWebhook: ({ later, book }) => later(89_000, book) },
    ["passed", {}, 115],
  ],
  ["never books", { onWebhook: () => undefined }, ["unknown", { after_the_webhook: "never_paid" }, 109]],
  [
    "redirects five times",
    {
      onVisit: ({ query }) => {
        const hop = Number(query.get("hop") ?? 0);
        return hop < 5
          ? { status: 302, headers: { Location: `/thanks?order_id=${query.get("order_id")}&hop=${hop + 1}` } }
          : 200;
      },
    },
    ["passed", {}, 26],
  ],
  [
    "redirects six times",
    {
      onVisit: ({ query }) => {
        const hop = Number(query.get("hop") ?? 0);
        return hop < 6
          ? { status: 302, headers: { Location: `/thanks?order_id=${query.get("order_id")}&hop=${hop + 1}` } }
          : 200;
      },
    },
    ["unknown", UNREACHABLE, 26],
  ],
  [
    "redirects to nothing",
    { onVisit: () => ({ status: 302, headers: { Location: "http://" } }) },
    ["unknown", UNREACHABLE, 26],
  ],
  ["refuses its customers", { onVisit: () => 404 }, ["unknown", UNREACHABLE, 26]],
  ["refuses forms", { onVisit: ({ method }) => (method === "POST" ? 405 : 200) }, ["passed", {}, 26]],
  [
    "answers each third visit",
    { onVisit: ({ count }) => (count % 3 === 0 ? 200 : 429) },
    ["passed", {}, 52.4],
  ],
  ["answers no visit", { onVisit: () => 429 }, ["unknown", UNREACHABLE, 78.8]],
  ["its view cannot be read", { show: () => 500 }, ["unknown", each("view_unreadable", ...ALL_STEPS), 109]],
  ["its view is limited", { show: () => 429 }, ["unknown", each("view_limited", ...ALL_STEPS), 178.1]],
  [
    "its view says paid",
    { show: () => "paid" },
    [
      "unknown",
      {
        before_the_return: "paid_from_the_start",
        return_without_payment: "paid_from_the_start",
        return_before_webhook: "paid_from_the_start",
      },
      12,
    ],
  ],
  ["knows no order", { show: () => 404 }, ["unknown", { before_the_return: "order_unknown" }, 1.25]],
  [
    "knows no order of its own",
    { show: () => 404 },
    ["unknown", { before_the_return: "own_order_unknown" }, 1.25],
    { isOwn: false },
  ],
  ["refuses events, and takes the third attempt", { limited: 2 }, ["passed", {}, 29.45]],
  ["refuses all events", { limited: 99 }, ["unknown", { before_the_return: "order_unknown" }, 11.3]],
];

test("each shop is told what it shows, after the waits that show it", async () => {
  const codes = new Map(Object.entries(RETURN_CAUSES).map(([code, words]) => [english(words), code]));
  for (const [what, shop, shown, plan] of ROWS) {
    const { result, endedAt } = await runDrill({ ...plan, shop });
    if (result.end !== "success") throw new Error(`${what}: ${result.end}`);
    const { verdict, steps } = judgeReturn(result.value);
    const failed = steps.flatMap(({ name, cause }) => (cause === null ? [] : [[name, codes.get(cause)]]));
    expect([what, verdict, Object.fromEntries(failed), endedAt]).toEqual([what, ...shown]);
  }
});

test("an event that a rate limit refused is sent again: the creation at once, the payment after 10 s", async () => {
  const limited = await runDrill({ shop: { limited: 2 } });
  expect(limited.course.slice(0, 6)).toEqual([
    "1.25 lease of browser_return for 120 s",
    "1.25 → event 701: 429",
    "2.35 → event 701: 429",
    "3.45 → event 701: 200",
    "3.45 → event 702: 200",
    "3.45 end of the lease",
  ]);
  expect(limited.limits).toBe(2);
  const late = await runDrill({ shop: { limitedPayment: 1 } });
  const released = late.course.findLastIndex((line) => line.startsWith("19 end of the lease"));
  expect(late.course.slice(released + 1)).toEqual([
    "29 lease of browser_return for 120 s",
    "29 → event 701: 429",
    "30.1 → event 701: 200",
    "30.1 → event 702: 200",
    "30.1 end of the lease",
    "34.1 GET ?order_id=own&session_id=own",
  ]);
  expect((await runDrill({ shop: { show: ({ now }) => (now < 2000 ? 429 : "open") } })).limits).toBe(2);
});
