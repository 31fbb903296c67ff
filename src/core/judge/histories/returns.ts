// The histories of a customer who returns.
import type { Words } from "../../language.ts";
import type { History, Step } from "../step.ts";
import {
  API_UP,
  API_BUSY,
  API_FAILS,
  API_REFUSES,
  API_SILENT,
  API_SLOW,
  apiAnswers,
  cancel,
  create,
  historiesWith,
  CREATE_EARLY,
  end,
  tellCreated,
  look,
  unchangedBy,
  on,
  pay,
  tellPaid,
  visitAs,
  SECOND_ATTEMPT,
  SLOW_API_MS,
  tell,
  tellFrom,
  visit,
} from "./steps.ts";

/** Queries that report success, with the parameters of several services. */
export const PAID_QUERY = "&status=succeeded&paid=true&redirect_status=succeeded&trade_status=TRADE_SUCCESS";
const SECOND_QUERY = "&status=paid&payment_status=paid&success=true&result=success&result_code=SUCCESS";
const THIRD_QUERY = "&status=success&state=completed&success=1&paid=1";

type Row = Omit<History, "part">;

/** The payment event and two returns reach the shop, each after its own delay in milliseconds. */
function sameMoment(webhookMs: number, returnMs: number): Row {
  const sameMomentStep: Step = {
    act: "at_once",
    acts: [
      { tell: "a", afterMs: webhookMs },
      { visit: "a", afterMs: returnMs },
      { visit: "a", afterMs: returnMs },
    ],
  };
  return {
    title: sameMomentTitle(returnMs - webhookMs),
    steps: [create, tellCreated, pay, sameMomentStep, look, tell, look],
    causes: { booked_once: "books_by_both", booked_when_paid: "books_by_both" },
  };
}

function sameMomentTitle(ms: number): Words {
  if (ms === 0) return ["the webhook and two returns at the same moment", "Webhook 与两次返回同时到达"];
  return ms > 0
    ? [`two returns ${ms} ms after the webhook`, `两次返回比 Webhook 晚 ${ms} 毫秒`]
    : [`two returns ${-ms} ms before the webhook`, `两次返回比 Webhook 早 ${-ms} 毫秒`];
}

/** The customer pays, and the event arrives, while a return page is being built, which asks a slow API. */
function paymentWithinReturn(part: number, title: Words): Row {
  const sameMomentStep: Step = {
    act: "at_once",
    acts: [{ visit: "a" }, { steps: [pay, tellPaid], part, during: "visit" }],
  };
  return {
    title,
    steps: [create, tellCreated, API_SLOW, visit, sameMomentStep, API_UP, look, tell, look],
    causes: LOST_BY_RETURN,
  };
}

const LOST_BY_RETURN = {
  booked_once: "books_by_both",
  booked_when_paid: "lost_by_return",
  final_stays: "lost_by_return",
} as const;
const TWO_AT_ONCE: Step = { act: "at_once", acts: [{ visit: "a" }, { visit: "a" }] };
const OTHER_ORDER = on("b", create, tellCreated);
const VISIT_OF_OTHER = visitAs({ session: "b" });
/** A visit in a tab of the first attempt. */
const VISIT_OF_FIRST = visitAs({ session: "first" });
const CHEAPER_CHECKOUT: Step = { act: "create_elsewhere", of: "a", terms: "less" };
const MIXES_ORDERS = {
  never_unpaid: "mixes_orders",
  booked_when_paid: "mixes_orders",
  booked_once: "mixes_orders",
} as const;
const BELIEVES_RETURN = { never_unpaid: "believes_return", booked_when_paid: "gives_up" } as const;

const COMMON_FIELDS = { part: "browser_return", needs: ["returnUrl"] } as const;

/** The histories of a customer who returns, in the order in which they start. */
export const RETURN_HISTORIES = historiesWith(COMMON_FIELDS, {
  return_same_moment: sameMoment(0, 0),
  return_without_payment: {
    title: ["return before the payment", "未支付就返回，之后才支付"],
    steps: [create, tellCreated, visit, look, pay, tell, look],
    causes: BELIEVES_RETURN,
  },
  return_otherwise: {
    title: ["returns with a status, by POST and without a session", "返回时带状态、用 POST、不带会话"],
    steps: unchangedBy(
      visit,
      visitAs({ query: PAID_QUERY }),
      visitAs({ query: SECOND_QUERY }),
      visitAs({ method: "POST" }),
      visitAs({ query: THIRD_QUERY, from: "shop" }),
      visitAs({ from: "nowhere" }),
      visitAs({ session: null }),
    ),
    causes: BELIEVES_RETURN,
  },
  return_before_webhook: {
    title: ["two returns at once before the webhook, and one after", "Webhook 之前同时返回两次，之后一次"],
    steps: [create, tellCreated, pay, TWO_AT_ONCE, look, tell, look, visit, look],
    causes: { never_unpaid: "paid_without_asking", booked_once: "books_by_both" },
  },
  return_pending: {
    title: ["return while the payment is pending", "支付处理中时返回"],
    steps: [create, tellCreated, end("declined"), visit, look, tell, visit, look, pay, tell, look],
    causes: BELIEVES_RETURN,
  },
  return_cancelled: {
    title: ["return after the payer has cancelled", "付款人取消后返回"],
    steps: [create, tellCreated, cancel, visit, look, tell, visit, look],
    causes: BELIEVES_RETURN,
  },
  return_without_api: {
    title: ["return while the API answers 503, or not at all", "API 返回 503 或没有响应时返回"],
    steps: [create, tellCreated, API_BUSY, visit, look, API_SILENT, visit, look, API_UP, pay, tell, look],
    causes: { never_unpaid: "believes_without_api", booked_when_paid: "gives_up" },
  },
  return_api_refuses: {
    title: ["returns while the API refuses or cuts its answers", "API 拒绝或截断响应时返回"],
    steps: [
      create,
      tellCreated,
      ...[...API_REFUSES, ...API_FAILS].flatMap((fault) => [apiAnswers(fault), visit]),
      API_UP,
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
      tellCreated,
      ...OTHER_ORDER,
      ...on("c", create, tellCreated),
      VISIT_OF_OTHER,
      ...on("c", VISIT_OF_OTHER),
      ...on("b", pay),
      VISIT_OF_OTHER,
      look,
      ...on("b", tell, look),
      look,
      ...on("c", pay, tell, look),
    ],
    causes: MIXES_ORDERS,
  },
  return_longer_session: {
    needs: ["setsIds"],
    title: ["return with the session of a longer order_id", "使用订单号更长的订单的会话返回"],
    neighbours: "shorter",
    steps: [create, tellCreated, ...OTHER_ORDER, pay, tell, ...on("b", visitAs({ session: "a" }), look)],
    causes: MIXES_ORDERS,
  },
  return_other_terms: {
    needs: ["create"],
    title: ["return with a session for a lower amount", "用金额更低的会话返回"],
    steps: [create, cancel, tell, CHEAPER_CHECKOUT, visit, pay, visit, look, tell, visit, look],
    causes: { never_unpaid: "other_terms" },
  },
  return_second: {
    needs: ["create", "setsIds"],
    title: ["return after a cancellation, then a second attempt", "取消后返回，然后再次下单"],
    steps: [
      create,
      tellCreated,
      cancel,
      visit,
      tell,
      visit,
      look,
      create,
      visit,
      VISIT_OF_FIRST,
      pay,
      tell,
      visit,
      look,
      VISIT_OF_FIRST,
      look,
      // The return page tells the shop of the end before the event arrives.
      ...on("b", create, tellCreated, end("failed"), visit, CREATE_EARLY, tellFrom("first"), pay, tell, look),
    ],
    causes: SECOND_ATTEMPT,
  },
  return_begun: paymentWithinReturn(0.2, ["a payment at the start of a return page", "返回页面生成之初支付"]),
  return_half: paymentWithinReturn(0.5, ["a payment halfway through a return page", "返回页面生成中途支付"]),
  return_ending: paymentWithinReturn(0.8, ["a payment at the end of a return page", "返回页面生成末尾支付"]),
  return_within_event: {
    title: ["returns while the payment event is handled", "处理支付事件期间返回"],
    steps: [
      create,
      tellCreated,
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
      API_UP,
      look,
      tell,
      look,
    ],
    causes: LOST_BY_RETURN,
  },
  return_soon_after: sameMoment(0, 20),
  return_after: sameMoment(0, 60),
  return_late: sameMoment(0, 140),
  return_soon_before: sameMoment(30, 0),
  return_before: sameMoment(100, 0),
  return_early: sameMoment(200, 0),
});
