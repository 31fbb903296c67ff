// The histories of the launch checklist, as data. Their steps: core/judge/step.ts; how they are judged:
// core/judge/judge.ts. A step of a drill has the name of its history.
import type { Words } from "../language.ts";
import type { StepTitles } from "../readiness/drills/drill.ts";
import { MISSING_FIELDS, missingStepName } from "../readiness/drills/judge-sentences.ts";
import { CLIENT_HISTORIES } from "./client-histories.ts";
import type { Neighbour } from "./neighbours.ts";
import { ALWAYS, type Act, type History, type ReturnForm, type Step } from "./step.ts";

const create: Step = { act: "create", of: "a" };
/** The event of the creation, which a service delivers long before a payment. */
const known: Step = { act: "tell", of: "a", statuses: ["created"] };
/** The neighbour, which the shop knows like its subject. */
const BESIDE_IT: readonly Step[] = [
  { act: "create", of: "b" },
  { act: "tell", of: "b", statuses: ["created"] },
];
const pay: Step = { act: "pay", of: "a", outcome: "succeeded" };
const tell: Step = { act: "tell", of: "a" };
const look: Step = { act: "look", of: "a" };
const visit: Step = { act: "visit", of: "a" };
const payment: Step = { act: "tell", of: "a", statuses: ["succeeded"] };
const API_AGAIN: Step = { act: "faults", of: "a", faults: [] };
const RETRIEVES = { method: "GET", path: "/v1/checkout-sessions/*" } as const;
const API_BUSY: Step = {
  act: "faults",
  of: "a",
  faults: [{ action: "status", status: 503, match: RETRIEVES, times: ALWAYS }],
};
const API_SILENT: Step = {
  act: "faults",
  of: "a",
  faults: [{ action: "lose_request", match: RETRIEVES, times: ALWAYS }],
};

/** Queries that report success, with the parameters of several services. */
export const PAID_QUERY = "&status=succeeded&paid=true&redirect_status=succeeded&trade_status=TRADE_SUCCESS";
const OTHER_QUERY = "&status=paid&payment_status=paid&success=true&result=success&result_code=SUCCESS";
const THIRD_QUERY = "&status=success&state=completed&success=1&paid=1";

type UnpaidEnd = "failed" | "expired" | "cancelled";

function returning(form: ReturnForm): Step {
  return { act: "visit", of: "a", form };
}

function endsUnpaid(outcome: UnpaidEnd, title: Words): History {
  const steps: readonly Step[] = [create, { act: "pay", of: "a", outcome }, tell, look];
  return { part: "duplicates", title, steps };
}

/** Buys again after an end; then events of the first checkout arrive late. */
function secondAttempt(outcome: UnpaidEnd, title: Words): History {
  const late: Step = { act: "tell", of: "a", from: "first" };
  return {
    part: "duplicates",
    title,
    needs: ["create", "names"],
    steps: [create, { act: "pay", of: "a", outcome }, tell, look, create, pay, tell, look, late, look],
    causes: SECOND_ATTEMPT,
  };
}

const cancel: Step = { act: "pay", of: "a", outcome: "cancelled" };

/** A payment of the order_id on terms of another system. */
function otherTerms(terms: "other_amount" | "other_currency", title: Words): History {
  const elsewhere: Step = { act: "create_elsewhere", of: "a", terms };
  return {
    part: "duplicates",
    title,
    needs: ["create"],
    steps: [create, cancel, tell, elsewhere, pay, tell, look],
    causes: { never_unpaid: "other_terms" },
  };
}

const SECOND_ATTEMPT = {
  booked_when_paid: "second_attempt",
  final_stays: "second_attempt",
  booked_once: "second_attempt",
} as const;

/** The orders b and c are created beside a, all are paid, and their payments arrive at the same moment. */
const THREE_AT_ONCE: readonly Step[] = [
  create,
  known,
  ...BESIDE_IT,
  { act: "create", of: "c" },
  { act: "tell", of: "c", statuses: ["created"] },
  pay,
  { act: "pay", of: "b", outcome: "succeeded" },
  { act: "pay", of: "c", outcome: "succeeded" },
  { act: "at_once", acts: [{ tell: "a" }, { tell: "b" }, { tell: "c" }] },
  look,
  { act: "look", of: "b" },
  { act: "look", of: "c" },
];

/** Only a is paid; b must stay unpaid, also when its customer returns with the session of a. */
const BESIDE: readonly Step[] = [create, known, ...BESIDE_IT, pay, tell, look, { act: "look", of: "b" }];
const BESIDE_WITH_SESSION: readonly Step[] = [
  ...BESIDE.slice(0, 6),
  { act: "visit", of: "b", form: { session: "a" } },
  { act: "look", of: "b" },
];

function twin(neighbours: Neighbour, title: Words): History {
  return { part: "duplicates", title, needs: ["names"], neighbours, steps: BESIDE, causes: MIXED };
}

const MIXED = { never_unpaid: "mixes_up", booked_when_paid: "mixes_up", booked_once: "mixes_up" } as const;
const AT_ONCE = {
  causes: { booked_once: "lost_at_once", booked_when_paid: "lost_at_once", never_unpaid: "mixes_up" },
} as const;

/** Payment event and two returns at the same moment: the webhook first, or the customer first. */
function moment(webhookMs: number, returnMs: number): Step {
  const acts: readonly Act[] = [
    { tell: "a", afterMs: webhookMs },
    { visit: "a", afterMs: returnMs },
    { visit: "a", afterMs: returnMs },
  ];
  return { act: "at_once", acts };
}

function sameMoment(webhookMs: number, returnMs: number, title: Words): History {
  return {
    part: "browser_return",
    title,
    needs: ["returnUrl"],
    steps: [create, known, pay, moment(webhookMs, returnMs), look, tell, look],
    causes: { booked_once: "books_by_both", booked_when_paid: "books_by_both" },
  };
}

const BELIEVES = { never_unpaid: "believes_return", booked_when_paid: "gives_up" } as const;
const returnsOf = { part: "browser_return", needs: ["returnUrl"] } as const;

/** All histories, in the order in which they start: what breaks most shops comes first. */
export const HISTORIES = {
  payment_again: {
    part: "duplicates",
    title: [
      "all events again, late and with another id in the header",
      "所有事件再次、迟到推送，并改换请求头中的 id",
    ],
    steps: [
      create,
      pay,
      tell,
      look,
      tell,
      payment,
      { act: "tell", of: "a", statuses: ["succeeded"], how: "other_id" },
      look,
    ],
    causes: { booked_once: "books_again", final_stays: "goes_back" },
  },
  payment_first: {
    part: "duplicates",
    title: ["the payment before all other events, which arrive late", "支付事件先于其他事件，其他事件迟到"],
    steps: [create, pay, payment, payment, { act: "tell", of: "a", statuses: ["created", "pending"] }, look],
    causes: { booked_once: "books_again", booked_when_paid: "lost_early", final_stays: "goes_back" },
  },
  return_same_moment: sameMoment(0, 0, [
    "the webhook and two returns at the same moment",
    "webhook 与两次返回同时到达",
  ]),
  burst: {
    part: "duplicates",
    title: ["a payment ten times at the same moment", "同一支付同时推送十次"],
    steps: [create, known, pay, { act: "at_once", acts: [{ tell: "a", copies: 10 }] }, look],
    causes: { booked_once: "books_at_once" },
  },
  orders_at_once: {
    part: "duplicates",
    title: ["payments of three orders at the same moment", "三个订单的支付同时到达"],
    needs: ["names"],
    neighbours: "last_digit",
    steps: THREE_AT_ONCE,
    ...AT_ONCE,
  },
  forged_payment: {
    part: "duplicates",
    title: ["a forged payment, badly signed", "伪造的支付，签名错误"],
    steps: [create, { act: "tell", of: "a", how: "forged", statuses: ["created"] }, look],
    causes: { never_unpaid: "books_unverified" },
  },
  return_without_payment: {
    ...returnsOf,
    title: ["return without a payment, which then comes", "未支付就返回，之后才支付"],
    steps: [create, known, visit, look, pay, tell, look],
    causes: BELIEVES,
  },
  return_otherwise: {
    ...returnsOf,
    title: [
      "return with a status, by POST, from your site, without a session, again and again",
      "带状态、用 POST、从您的网站、不带会话、反复返回",
    ],
    steps: [
      create,
      known,
      visit,
      returning({ query: PAID_QUERY }),
      returning({ query: OTHER_QUERY }),
      returning({ method: "POST" }),
      returning({ query: THIRD_QUERY, from: "shop" }),
      returning({ from: "nowhere" }),
      returning({ session: null }),
      look,
    ],
    causes: BELIEVES,
  },
  return_before_webhook: {
    ...returnsOf,
    title: [
      "two returns at once after the payment, before the webhook, and again after it",
      "支付后、webhook 之前同时返回两次，之后再次返回",
    ],
    steps: [
      create,
      known,
      pay,
      { act: "at_once", acts: [{ visit: "a" }, { visit: "a" }] },
      look,
      tell,
      look,
      visit,
      look,
    ],
    causes: { never_unpaid: "paid_without_asking", booked_once: "books_by_both" },
  },
  return_pending: {
    ...returnsOf,
    title: ["return while the payment is pending", "支付处于 pending 时返回"],
    steps: [
      create,
      known,
      { act: "pay", of: "a", outcome: "declined" },
      visit,
      look,
      tell,
      visit,
      look,
      pay,
      tell,
      look,
    ],
    causes: BELIEVES,
  },
  return_cancelled: {
    ...returnsOf,
    title: ["return after the payer has cancelled", "付款人取消后返回"],
    steps: [create, known, cancel, visit, look, tell, visit, look],
    causes: BELIEVES,
  },
  return_without_api: {
    ...returnsOf,
    title: ["return while the API answers 503, or nothing", "API 返回 503 或没有响应时返回"],
    steps: [create, known, API_BUSY, visit, look, API_SILENT, visit, look, API_AGAIN, pay, tell, look],
    causes: { never_unpaid: "believes_without_api", booked_when_paid: "gives_up" },
  },
  return_other_session: {
    ...returnsOf,
    needs: ["returnUrl"],
    title: ["return with the session of another, paid order", "使用另一个已支付订单的会话返回"],
    steps: [
      create,
      known,
      ...BESIDE_IT,
      { act: "pay", of: "b", outcome: "succeeded" },
      { act: "visit", of: "a", form: { session: "b" } },
      look,
    ],
    causes: { never_unpaid: "mixes_orders" },
  },
  return_longer_session: {
    ...returnsOf,
    needs: ["returnUrl", "names"],
    title: [
      "return with the session of a paid order whose order_id is longer",
      "使用 order_id 更长的已支付订单的会话返回",
    ],
    neighbours: "shorter",
    steps: BESIDE_WITH_SESSION,
    causes: { never_unpaid: "mixes_orders" },
  },
  return_soon_after: sameMoment(0, 20, ["returns 20 ms after the webhook", "webhook 之后 20 毫秒返回"]),
  return_after: sameMoment(0, 60, ["returns 60 ms after the webhook", "webhook 之后 60 毫秒返回"]),
  return_late: sameMoment(0, 140, ["returns 140 ms after the webhook", "webhook 之后 140 毫秒返回"]),
  return_soon_before: sameMoment(30, 0, ["returns 30 ms before the webhook", "webhook 之前 30 毫秒返回"]),
  return_before: sameMoment(100, 0, ["returns 100 ms before the webhook", "webhook 之前 100 毫秒返回"]),
  return_early: sameMoment(200, 0, ["returns 200 ms before the webhook", "webhook 之前 200 毫秒返回"]),
  declined_attempt: {
    part: "duplicates",
    title: ["an attempt that was declined, and a payment after it", "支付被拒，之后支付成功"],
    steps: [create, { act: "pay", of: "a", outcome: "declined" }, tell, look, pay, tell, look],
  },
  payment_failed: endsUnpaid("failed", ["a payment that failed", "支付失败"]),
  order_expired: endsUnpaid("expired", ["an order that expired", "订单过期"]),
  order_cancelled: endsUnpaid("cancelled", ["an order that was cancelled", "订单取消"]),
  unknown_type: {
    part: "duplicates",
    title: ["an event of a type that comes later", "以后才有的事件类型"],
    steps: [create, { act: "tell", of: "a", how: "unknown_type", statuses: ["created"] }, look],
    causes: { never_unpaid: "books_unknown_type" },
  },
  twin_case: twin("other_case", ["an order whose order_id differs in case", "order_id 仅大小写不同的订单"]),
  twin_longer: twin("longer", ["an order whose order_id is longer", "order_id 更长的订单"]),
  twin_shorter: twin("shorter", ["an order whose order_id is shorter", "order_id 更短的订单"]),
  twin_pattern: twin("pattern", [
    "an order whose order_id is a pattern with _ that fits another",
    "order_id 中含 _，作为模式可匹配另一个",
  ]),
  twin_end: twin("same_end", ["an order whose order_id has the same end", "order_id 结尾相同的订单"]),
  twin_head: twin("same_head", [
    "an order with a long order_id and the same beginning",
    "order_id 很长且开头相同的订单",
  ]),
  other_amount: otherTerms("other_amount", [
    "a payment of another amount with the same order_id",
    "同一 order_id 的另一金额的支付",
  ]),
  other_currency: otherTerms("other_currency", [
    "a payment in another currency with the same order_id",
    "同一 order_id 的另一币种的支付",
  ]),
  unknown_order: {
    part: "duplicates",
    title: ["a payment of an order that another system has created", "由其他系统创建的订单的支付"],
    needs: ["create"],
    steps: [
      create,
      known,
      { act: "create_elsewhere", of: "b", terms: "same", like: "a" },
      { act: "pay", of: "b", outcome: "succeeded" },
      { act: "tell", of: "b" },
      look,
    ],
    causes: { never_unpaid: "mixes_up", takes_events: "refuses_others" },
  },
  webhook_without_api: {
    part: "duplicates",
    title: ["a payment while the API answers 503 for 2 s", "API 返回 503 达 2 秒时的支付"],
    steps: [
      create,
      known,
      pay,
      API_BUSY,
      payment,
      { act: "wait", milliseconds: 2000 },
      API_AGAIN,
      look,
      tell,
      look,
    ],
    causes: { booked_when_paid: "lost_without_api", booked_once: "books_again" },
  },
  webhook_after_question: {
    part: "duplicates",
    title: ["the payment right after your shop has asked the API", "商店刚查询过 API，支付事件就到达"],
    steps: [create, known, pay, { act: "await_question", of: "a" }, payment, look, tell, look],
    causes: { booked_once: "books_by_job", booked_when_paid: "books_by_job" },
  },
  second_cancelled: secondAttempt("cancelled", ["bought again after it was cancelled", "取消后再次下单"]),
  second_failed: secondAttempt("failed", ["bought again after its payment failed", "支付失败后再次下单"]),
  second_expired: secondAttempt("expired", ["bought again after it expired", "过期后再次下单"]),
  ...CLIENT_HISTORIES,
  other_end_late: {
    part: "duplicates",
    title: ["the late end of another checkout of a paid order", "已支付订单的另一收款单的结束事件迟到"],
    needs: ["create", "names"],
    steps: [
      create,
      cancel,
      tell,
      { act: "create_elsewhere", of: "a", terms: "same" },
      cancel,
      create,
      pay,
      tell,
      look,
      { act: "tell", of: "a", from: "elsewhere" },
      look,
    ],
    causes: SECOND_ATTEMPT,
  },
  restart_at_event: {
    part: "duplicates",
    title: ["a restart 60 ms after the payment event", "收到支付事件 60 毫秒后重启"],
    needs: ["restart"],
    isAlone: true,
    steps: [create, known, pay, { act: "restart", during: "a", afterMs: 60 }, tell, look],
    causes: {
      booked_when_paid: "lost_at_restart",
      booked_once: "lost_at_restart",
      final_stays: "lost_at_restart",
    },
  },
  restart_after_answer: {
    part: "duplicates",
    title: ["a restart right after the answer to the payment event", "返回支付事件的响应后立即重启"],
    needs: ["restart"],
    isAlone: true,
    steps: [create, known, pay, payment, { act: "restart" }, look, payment, look],
    causes: {
      booked_when_paid: "lost_at_restart",
      booked_once: "lost_at_restart",
      final_stays: "lost_at_restart",
    },
  },
} as const satisfies Readonly<Record<string, History>>;

export type HistoryName = keyof typeof HISTORIES;

/** The first history, before all others: a purchase as a customer makes it, over the service's own deliveries. */
export const PLAIN_PURCHASE = "plain_purchase";
/** The last one: the payment of the first purchase, delivered again. */
export const MUCH_LATER = "much_later";

export const HISTORY_TITLES = {
  [PLAIN_PURCHASE]: {
    title: ["a plain purchase: create, pay, all events", "普通购买：下单、支付、全部事件"],
  },
  ...HISTORIES,
  [MUCH_LATER]: {
    title: [
      "the first payment again, after more than 30 s and all other events",
      "超过 30 秒、在所有其他事件之后再次推送首个支付",
    ],
  },
} as const;

/** The titles of the steps that a run records: its histories, and the fields that its description leaves out. */
export const RUN_STEPS: StepTitles = {
  ...HISTORY_TITLES,
  ...Object.fromEntries(
    Object.entries(MISSING_FIELDS).map(([field, { title }]) => [missingStepName(field), { title }]),
  ),
};
