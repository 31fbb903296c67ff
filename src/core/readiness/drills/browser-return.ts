import { english, type Words } from "../../language.ts";
import { EXPECTED_RESULTS, STEP_RESULTS, LIST_ITEMS } from "../drill-sentences.ts";
import type { JudgedDrill } from "./drill.ts";
import { readingText, type OrderReading } from "./order-view.ts";

/** A visit to the page to which customers return. */
export type Visit = { readonly arrived: boolean; readonly got: string };

/** The observations of one order, in the order of the steps. */
export type ReturnFacts = {
  /** The checkout of the order. */
  readonly checkoutId: string;
  /** Whether the drill, not the shop, created the checkout. */
  readonly isOwn: boolean;
  /** The view before any return. `isUnknown`: the view answered 404, and the drill ended. */
  readonly before: OrderReading;
  readonly isUnknown: boolean;
  /** The visit and the view after the customer returned without paying. */
  readonly unpaid: { readonly visit: Visit; readonly view: OrderReading } | null;
  /** The view after returns in other ways, still without paying. `way`: the way that the shop trusted, if any. */
  readonly otherwise: { readonly way: string; readonly view: OrderReading } | null;
  /** The visit and the view after the customer paid and returned, but before the webhook. */
  readonly early: {
    readonly visit: Visit;
    readonly view: OrderReading;
    /** Whether the merchant has meanwhile retrieved the session and received `succeeded`. */
    readonly asked: boolean;
  } | null;
  /** The view after the webhooks. */
  readonly confirmed: OrderReading | null;
  /** The view after the customer returned again. `isTwice`: it shows twice as much as after the first booking. */
  readonly again: { readonly view: OrderReading; readonly isTwice: boolean } | null;
};

/** The ways of returning that reveal mistakes of a page that retrieves the session. */
export const RETURN_WAYS = {
  pending: english(LIST_ITEMS.pending),
  otherSession: english(LIST_ITEMS.otherSession),
  cancelled: english(LIST_ITEMS.cancelledOrder),
} as const;

/** The likely cause of a failed or unclear step. The list is closed. */
export const RETURN_CAUSES = {
  believes_return: [
    "It marks the order paid because the customer returned. A return proves nothing, and anybody can open that address: wait for the verified webhook, or ask GET /v1/checkout-sessions/{id}. (Or --paid-when also matches an unpaid order: see the result of this step.)",
    "因为顾客返回就把订单标为已支付。返回不能证明任何事，任何人都能打开该地址：请等待验签通过的 webhook，或查询 GET /v1/checkout-sessions/{id}。（也可能 --paid-when 也匹配了未支付的订单：请看实际结果。）",
  ],
  believes_other_return: [
    "It marks the order paid because the customer returned in this way: with a status in the address, by POST, from a page of the shop, or once more, with the cookies of earlier visits. (Or it believes the first return, but only after the drill read the view.) Anybody can do each of these: wait for the verified webhook, or ask GET /v1/checkout-sessions/{id}.",
    "因为顾客以这种方式返回就把订单标为已支付：地址中带状态、用 POST、从商店的页面返回，或带着之前访问的 Cookie 重复返回。（也可能相信了首次返回，只是晚于演练的查看。）任何人都能做到这些：请等待验签通过的 webhook，或查询 GET /v1/checkout-sessions/{id}。",
  ],
  believes_pending: [
    "It marks the order paid because the customer returned while the payment was pending: it most likely asks the API, and takes pending for paid. The only attempt was declined. Only succeeded means paid.",
    "支付尚在 pending 时顾客返回，就把订单标为已支付：很可能查询了 API，却把 pending 当作已支付。唯一一次支付尝试已被拒。只有 succeeded 才是已支付。",
  ],
  believes_final: [
    "It marks an order paid whose payer cancelled it and returned: it most likely asks the API, and takes every final status for a success. Only succeeded means paid.",
    "付款人已取消订单并返回，该订单却被标为已支付：很可能查询了 API，却把所有不再变化的状态都当作成功。只有 succeeded 才是已支付。",
  ],
  books_twice: [
    "The view shows twice as much as after the first booking: it most likely books the order when the customer returns, and again when the webhook arrives, or each time the page is opened. Let both call one function that books only an unpaid order, in one transaction. (If the view counts returns or webhooks, let it show only the order.)",
    "视图显示的数量是首次入账后的两倍：很可能在顾客返回时入账，收到 webhook 或每次打开页面时又入账一次。请让两者调用同一个函数，在一个事务中只为尚未支付的订单入账。（如果视图显示返回或推送的次数，请让它只显示订单本身。）",
  ],
  forgets_on_return: [
    "The order was paid, but no longer is after the customer returned again: the page most likely writes its own status. A return must not change a paid order.",
    "订单已支付，顾客再次返回后却不再是已支付：很可能页面写入了自己的状态。返回不能改动已支付的订单。",
  ],
  mixes_orders: [
    "The customer returned with the session of another, paid order and the order_id of this order, and it marks this order paid: it asks the API about the session in the address, but books the order in the address. Anybody can combine the two. Book the order_id that the API returns, or ask about the session that you have stored with the order.",
    "顾客返回时，地址中的会话属于另一个已支付的订单，order_id 则是本订单，本订单因此被标为已支付：查询 API 时用了地址中的会话，入账时用了地址中的订单。任何人都能把两者拼在一起。请为 API 返回的 order_id 入账，或查询与订单一起保存的会话。",
  ],
  paid_without_asking: [
    "It marks the order paid after the return of a customer who had paid, but it has not asked the API, and no webhook was sent: it most likely believes the return, but only after the drill had read the view. Wait for the verified webhook, or ask GET /v1/checkout-sessions/{id}. (A view that uses a command of this program shows the records of the service, not of your shop.)",
    "顾客支付后返回，订单就被标为已支付，但既没有查询 API，也没有推送过 webhook：很可能相信了返回，只是晚于演练之前的查看。请等待验签通过的 webhook，或查询 GET /v1/checkout-sessions/{id}。（如果视图用本程序的命令查询，显示的是本服务的结果，而不是您的商店的。）",
  ],
  paid_from_the_start: [
    "The view shows the order as paid before anybody has returned or paid: --paid-when also matches an unpaid order (does paid match unpaid?), the view shows another order, or your shop books the creation of an order.",
    "尚无人返回或支付，视图就显示已支付：--paid-when 也匹配了未支付的订单（paid 是否匹配了 unpaid？），视图显示的是另一个订单，或您的商店把刚创建的订单入账。",
  ],
  order_unknown: [
    "The view answers 404 for an order that the drill created: your shop does not know orders that it has not created. Name an unpaid order of your shop: --checkout ID, or let the shop create one: --create CMD. (Or --order-view does not show the order of {order_id} or {session_id}.)",
    "对演练创建的订单，视图返回 404：您的商店不认识不是自己创建的订单。请指定您的商店的未支付订单：--checkout ID，或让商店创建：--create CMD。（也可能 --order-view 显示的不是 {order_id} 或 {session_id} 对应的订单。）",
  ],
  own_order_unknown: [
    "The view answers 404 for an order that your shop created: --order-view does not show the order of {order_id} or {session_id}.",
    "对您的商店创建的订单，视图返回 404：--order-view 显示的不是 {order_id} 或 {session_id} 对应的订单。",
  ],
  never_paid: [
    "The order was paid, but the view does not show it, so its earlier answers prove nothing. The webhook, checkout_session.succeeded, was not sent (does checkout endpoints list show an endpoint that subscribes to it?) or not accepted (see checkout deliveries list), your shop acts only on order.succeeded, --paid-when does not match, or your shop does not know orders that it has not created: create an order in the shop, and name it with --checkout.",
    "订单已支付，视图却没有显示，因此之前的回答不能证明什么。可能是 checkout_session.succeeded 的 webhook 没有推送（checkout endpoints list 中是否有接收它的接收端？）或没有被接受（见 checkout deliveries list），您的商店只处理 order.succeeded，--paid-when 不匹配，或您的商店不认识不是自己创建的订单：请在商店创建一个，并用 --checkout 指定。",
  ],
  view_unreadable: [
    "The view of the order could not be read: it must answer 2xx, or 404 for an unknown order; a command must exit with 0.",
    "无法读取订单视图：视图必须返回 2xx，订单不存在时返回 404；如果是命令，退出码必须为 0。",
  ],
  view_limited: [
    "The view answered 429 again and again: your rate limit keeps the drill from reading it. Raise the limit for this machine.",
    "视图一再返回 429：您的频率限制使演练无法读取。请为本机提高限制。",
  ],
  page_unreachable: [
    "The page did not open: --return-url must be the page that customers return to.",
    "页面无法打开：--return-url 必须是顾客返回的页面。",
  ],
} as const satisfies Readonly<Record<string, Words>>;

/** A cause of the closed list. */
export type ReturnCause = keyof typeof RETURN_CAUSES;

/** A step: its observation, and its cause if it fails. */
type ReturnStep = {
  readonly title: Words;
  readonly expected: Words;
  /** Null if the step was not reached. */
  readonly got: (facts: ReturnFacts) => string | null;
  readonly cause: (facts: ReturnFacts) => ReturnCause | undefined;
};

/** The steps of the drill, in order. */
export const RETURN_STEPS = {
  before_the_return: {
    title: ["before the return", "返回之前"],
    expected: EXPECTED_RESULTS.unpaid,
    got: ({ before }) => readingText(before),
    cause: ({ before, isUnknown, isOwn }) => {
      if (isUnknown) return isOwn ? "order_unknown" : "own_order_unknown";
      return before.says === "paid" ? "paid_from_the_start" : readable(before);
    },
  },
  return_without_payment: {
    title: ["return without a payment", "未支付就返回"],
    expected: EXPECTED_RESULTS.unpaid,
    got: ({ unpaid }) => unpaid && english(STEP_RESULTS.andPage(readingText(unpaid.view), unpaid.visit.got)),
    cause: ({ before, unpaid }) => {
      if (unpaid === null) return undefined;
      const unclear = cannotTell(unpaid);
      if (unclear !== undefined || unpaid.view.says !== "paid") return unclear;
      return before.says === "paid" ? "paid_from_the_start" : "believes_return";
    },
  },
  return_otherwise: {
    title: [
      "return while pending, cancelled, with another session or none, with a status, by POST, from your site, three times",
      "以各种方式返回：支付 pending 时、取消后、用另一会话或不带会话、带状态、用 POST、从您的网站、三次返回",
    ],
    expected: EXPECTED_RESULTS.unpaid,
    got: ({ otherwise }) =>
      otherwise && english(STEP_RESULTS.returned(readingText(otherwise.view), otherwise.way)),
    cause: ({ otherwise }) =>
      otherwise?.view.says === "paid"
        ? trustedReturnCause(otherwise)
        : otherwise === null
          ? undefined
          : readable(otherwise.view),
  },
  return_before_webhook: {
    title: ["return after payment, webhooks held", "支付后返回，webhook 暂缓推送"],
    expected: EXPECTED_RESULTS.paidIfAsked,
    got: ({ early }) => early && english(STEP_RESULTS.andPage(earlySaid(early), early.visit.got)),
    cause: (facts) => (facts.early === null ? undefined : (cannotTell(facts.early) ?? earlyCause(facts))),
  },
  after_the_webhook: {
    title: ["after the webhooks", "推送 webhook 之后"],
    expected: EXPECTED_RESULTS.paid,
    got: ({ confirmed }) => confirmed && readingText(confirmed),
    cause: ({ confirmed }) =>
      confirmed === null
        ? undefined
        : (readable(confirmed) ?? (confirmed.says === "paid" ? undefined : "never_paid")),
  },
  return_again: {
    title: ["return once more, after the webhooks", "推送 webhook 之后再次返回"],
    expected: EXPECTED_RESULTS.paidOnce,
    got: ({ again }) => {
      if (again === null) return null;
      const said = readingText(again.view);
      return again.isTwice ? english(STEP_RESULTS.viewTwice(said)) : said;
    },
    cause: ({ again }) => {
      if (again === null) return undefined;
      if (again.isTwice) return "books_twice";
      return again.view.says === "not_paid" ? "forgets_on_return" : readable(again.view);
    },
  },
} as const satisfies Readonly<Record<string, ReturnStep>>;

/**
 * Judges the drill (interface 4). A return looks the same before and after the payment, so a shop that shows the order
 * as paid only after the payment has retrieved the session, which also confirms a payment. The sandbox has seen the
 * retrieve.
 */
export function judgeReturn(facts: ReturnFacts): JudgedDrill {
  const steps = Object.entries<ReturnStep>(RETURN_STEPS).flatMap(
    ([name, { expected, got: gotOf, cause: causeOf }]) => {
      const got = gotOf(facts);
      if (got === null) return [];
      const code = causeOf(facts);
      const cause = code === undefined ? null : english(RETURN_CAUSES[code]);
      return [
        {
          name,
          passed: cause === null,
          expected: english(expected),
          got,
          cause,
          reference: facts.checkoutId,
        },
      ];
    },
  );
  if (steps.every(({ passed }) => passed)) return { verdict: "passed", steps };
  const { again } = facts;
  // A page that always says paid proves nothing.
  const failed =
    facts.before.says === "not_paid" &&
    (again?.isTwice === true ||
      again?.view.says === "not_paid" ||
      RETURN_STEPS.return_without_payment.cause(facts) === "believes_return" ||
      facts.otherwise?.view.says === "paid" ||
      RETURN_STEPS.return_before_webhook.cause(facts) === "paid_without_asking");
  return { verdict: failed ? "failed" : "unknown", steps };
}

/** Why a return was trusted, depending on how the customer returned. */
function trustedReturnCause({ way }: NonNullable<ReturnFacts["otherwise"]>): ReturnCause {
  if (way === RETURN_WAYS.pending) return "believes_pending";
  if (way === RETURN_WAYS.cancelled) return "believes_final";
  return way === RETURN_WAYS.otherSession ? "mixes_orders" : "believes_other_return";
}

/** Why the shop wrongly shows "paid" before the webhook; undefined if it may, or does not. */
function earlyCause({ before, unpaid, otherwise, early }: ReturnFacts): ReturnCause | undefined {
  if (early?.view.says !== "paid") return undefined;
  if (before.says === "paid") return "paid_from_the_start";
  if (unpaid?.view.says === "paid") return "believes_return";
  if (otherwise?.view.says === "paid") return trustedReturnCause(otherwise);
  return early.asked ? undefined : "paid_without_asking";
}

function earlySaid({ view, asked }: NonNullable<ReturnFacts["early"]>): string {
  const said = readingText(view);
  return view.says === "paid" && asked ? english(STEP_RESULTS.hasAsked(said)) : said;
}

function cannotTell({ visit, view }: NonNullable<ReturnFacts["unpaid"]>): ReturnCause | undefined {
  return visit.arrived ? readable(view) : "page_unreachable";
}

function readable({ says, got }: OrderReading): ReturnCause | undefined {
  if (says !== "unknown") return undefined;
  return got === "429" ? "view_limited" : "view_unreadable";
}
