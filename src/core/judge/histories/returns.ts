// The histories of a customer who returns.
import type { Words } from "../../language.ts";
import type { History, Step } from "../step.ts";
import {
  API_AGAIN,
  API_BUSY,
  API_FAILS,
  API_REFUSES,
  API_SILENT,
  API_SLOW,
  apiAnswers,
  cancel,
  create,
  each,
  EARLY,
  ends,
  known,
  look,
  nothingBy,
  on,
  pay,
  payment,
  returning,
  SECOND_ATTEMPT,
  SLOW_API_MS,
  tell,
  tellOf,
  visit,
} from "./steps.ts";

/** Queries that report success, with the parameters of several services. */
export const PAID_QUERY = "&status=succeeded&paid=true&redirect_status=succeeded&trade_status=TRADE_SUCCESS";
const OTHER_QUERY = "&status=paid&payment_status=paid&success=true&result=success&result_code=SUCCESS";
const THIRD_QUERY = "&status=success&state=completed&success=1&paid=1";

type Row = Omit<History, "part">;

/** Payment event and two returns at the same moment: the webhook first, or the customer first. */
function sameMoment(webhookMs: number, returnMs: number, title: Words): Row {
  const moment: Step = {
    act: "at_once",
    acts: [
      { tell: "a", afterMs: webhookMs },
      { visit: "a", afterMs: returnMs },
      { visit: "a", afterMs: returnMs },
    ],
  };
  return {
    title,
    steps: [create, known, pay, moment, look, tell, look],
    causes: { booked_once: "books_by_both", booked_when_paid: "books_by_both" },
  };
}

/** The payment and its event come while a return page of the order is being built, which asks a slow API. */
function withinPart(part: number, title: Words): Row {
  const moment: Step = {
    act: "at_once",
    acts: [{ visit: "a" }, { steps: [pay, payment], part, during: "visit" }],
  };
  return {
    title,
    steps: [create, known, API_SLOW, visit, moment, API_AGAIN, look, tell, look],
    causes: LOST_BY_RETURN,
  };
}

const LOST_BY_RETURN = {
  booked_once: "books_by_both",
  booked_when_paid: "lost_by_return",
  final_stays: "lost_by_return",
} as const;
const TWO_AT_ONCE: Step = { act: "at_once", acts: [{ visit: "a" }, { visit: "a" }] };
const BESIDE = on("b", create, known);
const OF_ANOTHER = returning({ session: "b" });
/** A tab of the first attempt. */
const OF_FIRST = returning({ session: "first" });
const CHEAPER: Step = { act: "create_elsewhere", of: "a", terms: "less" };
const MIXES_ORDERS = {
  never_unpaid: "mixes_orders",
  booked_when_paid: "mixes_orders",
  booked_once: "mixes_orders",
} as const;
const BELIEVES = { never_unpaid: "believes_return", booked_when_paid: "gives_up" } as const;

const RETURNS = { part: "browser_return", needs: ["returnUrl"] } as const;

/** The histories of a customer who returns, in the order in which they start. */
export const RETURN_HISTORIES = each(RETURNS, {
  return_same_moment: sameMoment(0, 0, [
    "the webhook and two returns at the same moment",
    "webhook 与两次返回同时到达",
  ]),
  return_without_payment: {
    title: ["return without a payment, which then comes", "未支付就返回，之后才支付"],
    steps: [create, known, visit, look, pay, tell, look],
    causes: BELIEVES,
  },
  return_otherwise: {
    title: ["return with a status, by POST, without a session", "带状态、用 POST、不带会话返回"],
    steps: nothingBy(
      visit,
      returning({ query: PAID_QUERY }),
      returning({ query: OTHER_QUERY }),
      returning({ method: "POST" }),
      returning({ query: THIRD_QUERY, from: "shop" }),
      returning({ from: "nowhere" }),
      returning({ session: null }),
    ),
    causes: BELIEVES,
  },
  return_before_webhook: {
    title: ["two returns at once before the webhook, and one after", "webhook 之前同时返回两次，之后一次"],
    steps: [create, known, pay, TWO_AT_ONCE, look, tell, look, visit, look],
    causes: { never_unpaid: "paid_without_asking", booked_once: "books_by_both" },
  },
  return_pending: {
    title: ["return while the payment is pending", "支付处理中时返回"],
    steps: [create, known, ends("declined"), visit, look, tell, visit, look, pay, tell, look],
    causes: BELIEVES,
  },
  return_cancelled: {
    title: ["return after the payer has cancelled", "付款人取消后返回"],
    steps: [create, known, cancel, visit, look, tell, visit, look],
    causes: BELIEVES,
  },
  return_without_api: {
    title: ["return while the API answers 503, or nothing", "API 返回 503 或没有响应时返回"],
    steps: [create, known, API_BUSY, visit, look, API_SILENT, visit, look, API_AGAIN, pay, tell, look],
    causes: { never_unpaid: "believes_without_api", booked_when_paid: "gives_up" },
  },
  return_api_refuses: {
    title: ["returns while the API refuses or cuts its answers", "API 拒绝或截断响应时返回"],
    steps: [
      create,
      known,
      ...[...API_REFUSES, ...API_FAILS].flatMap((fault) => [apiAnswers(fault), visit]),
      API_AGAIN,
      look,
      pay,
      tell,
      look,
    ],
    causes: { never_unpaid: "believes_without_api", booked_when_paid: "gives_up_refused" },
  },
  return_other_session: {
    title: ["return with the session of another order", "使用另一个订单的会话返回"],
    steps: [
      create,
      known,
      ...BESIDE,
      ...on("c", create, known),
      OF_ANOTHER,
      ...on("c", OF_ANOTHER),
      ...on("b", pay),
      OF_ANOTHER,
      look,
      ...on("b", tell, look),
      look,
      ...on("c", pay, tell, look),
    ],
    causes: MIXES_ORDERS,
  },
  return_longer_session: {
    needs: ["names"],
    title: ["return with the session of a longer order_id", "使用订单号更长的订单的会话返回"],
    neighbours: "shorter",
    steps: [create, known, ...BESIDE, pay, tell, ...on("b", returning({ session: "a" }), look)],
    causes: MIXES_ORDERS,
  },
  return_other_terms: {
    needs: ["create"],
    title: ["return with a session of a lower amount", "用金额更低的会话返回"],
    steps: [create, cancel, tell, CHEAPER, visit, pay, visit, look, tell, visit, look],
    causes: { never_unpaid: "other_terms" },
  },
  return_second: {
    needs: ["create", "names"],
    title: ["return after it was cancelled, then bought again", "取消后返回，然后再次下单"],
    steps: [
      create,
      known,
      cancel,
      visit,
      tell,
      visit,
      look,
      create,
      visit,
      OF_FIRST,
      pay,
      tell,
      visit,
      look,
      OF_FIRST,
      look,
      // The return page tells the end before its event.
      ...on("b", create, known, ends("failed"), visit, EARLY, tellOf("first"), pay, tell, look),
    ],
    causes: SECOND_ATTEMPT,
  },
  return_begun: withinPart(0.2, ["a payment early within a return", "返回页面生成之初的支付"]),
  return_half: withinPart(0.5, ["a payment in the middle of a return", "返回页面生成过半时的支付"]),
  return_ending: withinPart(0.8, ["a payment at the end of a return", "返回页面即将完成时的支付"]),
  return_within_event: {
    title: ["returns while the payment event is handled", "处理支付事件期间返回"],
    steps: [
      create,
      known,
      pay,
      API_SLOW,
      {
        act: "at_once",
        acts: [
          { tell: "a" },
          { steps: [visit], part: 0.5, during: "event" },
          { steps: [visit], part: 0.5, during: "event", delayMs: SLOW_API_MS },
        ],
      },
      API_AGAIN,
      look,
      tell,
      look,
    ],
    causes: LOST_BY_RETURN,
  },
  return_soon_after: sameMoment(0, 20, ["returns 20 ms after the webhook", "webhook 之后 20 毫秒返回"]),
  return_after: sameMoment(0, 60, ["returns 60 ms after the webhook", "webhook 之后 60 毫秒返回"]),
  return_late: sameMoment(0, 140, ["returns 140 ms after the webhook", "webhook 之后 140 毫秒返回"]),
  return_soon_before: sameMoment(30, 0, ["returns 30 ms before the webhook", "webhook 之前 30 毫秒返回"]),
  return_before: sameMoment(100, 0, ["returns 100 ms before the webhook", "webhook 之前 100 毫秒返回"]),
  return_early: sameMoment(200, 0, ["returns 200 ms before the webhook", "webhook 之前 200 毫秒返回"]),
});
