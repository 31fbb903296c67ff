import type { Words } from "../../language.ts";
import type { Step } from "../step.ts";
import {
  API,
  API_PROBLEMS,
  apiAnswers,
  atOnce,
  CANCEL,
  CANCELLED_ORDER,
  causedBy,
  CREATE,
  CREATE_EARLY,
  end,
  EVENTS_AGAIN,
  historiesWith,
  LOOK,
  NEW_ORDER,
  on,
  onEach,
  PAY,
  PAYMENT,
  RETURN_LOSS_CAUSES,
  SECOND_ATTEMPT_CAUSES,
  SLOW_API_MS,
  TELL,
  tellFrom,
  unchangedBy,
  VISIT,
  visitAs,
  type Row,
} from "./steps.ts";

/** Queries that report success, with the parameters of several services. */
export const PAID_QUERY = "&status=succeeded&paid=true&redirect_status=succeeded&trade_status=TRADE_SUCCESS";
const SECOND_PAID_QUERY = "&status=paid&payment_status=paid&success=true&result=success&result_code=SUCCESS";
const THIRD_PAID_QUERY = "&status=success&state=completed&success=1&paid=1";
const CANCELLED_QUERY = "&status=cancelled&canceled=true&cancel=1&result=cancel&paid=false";
const FAILED_QUERY = "&status=failed&success=false&redirect_status=failed&error=payment_declined";
/** Texts that end an order_id within an SQL string, and comment out the rest of the statement. */
const SQL_ENDS = ["' -- ", '" -- '];

function sameMomentRow(webhookMs: number, returnMs: number): Row {
  const visit = { visit: "a", afterMs: returnMs } as const;
  return {
    title: sameMomentTitle(returnMs - webhookMs),
    steps: [NEW_ORDER, PAY, atOnce({ tell: "a", afterMs: webhookMs }, visit, visit), EVENTS_AGAIN],
    causes: { booked_once: "books_by_both", booked_when_paid: "books_by_both" },
  };
}

function sameMomentTitle(delayMs: number): Words {
  return delayMs > 0
    ? [`two returns ${delayMs} ms after the webhook`, `两次返回比 Webhook 晚 ${delayMs} 毫秒`]
    : [`two returns ${-delayMs} ms before the webhook`, `两次返回比 Webhook 早 ${-delayMs} 毫秒`];
}

const VISIT_WITH_OTHER_SESSION = visitAs({ session: "b" });
const VISIT_WITH_FIRST_SESSION = visitAs({ session: "first" });
const CHEAPER_CHECKOUT: Step = { act: "create_elsewhere", of: "a", terms: "less" };
const MIXED_SESSION_CAUSES = causedBy("mixes_orders", "never_unpaid", "booked_when_paid", "booked_once");
const RETURN_BELIEF_CAUSES = { never_unpaid: "believes_return", booked_when_paid: "gives_up" } as const;

const RETURN_DEFAULTS = { part: "browser_return", needs: ["returnUrl"] } as const;

export const RETURN_HISTORIES = historiesWith(RETURN_DEFAULTS, {
  return_without_payment: {
    title: ["return before the payment", "未支付就返回，之后才支付"],
    steps: [NEW_ORDER, VISIT, LOOK, PAYMENT],
    causes: RETURN_BELIEF_CAUSES,
  },
  return_otherwise: {
    title: ["returns with a status, by POST and without a session", "返回时带状态、用 POST、不带会话"],
    steps: unchangedBy(
      VISIT,
      visitAs({ query: PAID_QUERY }),
      visitAs({ query: SECOND_PAID_QUERY }),
      visitAs({ method: "POST" }),
      visitAs({ query: THIRD_PAID_QUERY, from: "shop" }),
      visitAs({ from: "nowhere" }),
      visitAs({ session: null }),
      visitAs({ query: CANCELLED_QUERY }),
      visitAs({ query: FAILED_QUERY }),
    ),
    causes: RETURN_BELIEF_CAUSES,
  },
  return_before_webhook: {
    title: ["two returns at once before the webhook, and one after", "Webhook 之前同时返回两次，之后一次"],
    steps: [NEW_ORDER, PAY, atOnce({ visit: "a" }, { visit: "a" }), EVENTS_AGAIN, VISIT, LOOK],
    causes: { never_unpaid: "paid_without_asking", booked_once: "books_by_both" },
  },
  return_pending: {
    title: ["return while the payment is pending", "支付处理中时，顾客返回"],
    steps: [NEW_ORDER, end("declined"), VISIT, LOOK, TELL, VISIT, LOOK, PAYMENT],
    causes: RETURN_BELIEF_CAUSES,
  },
  return_cancelled: {
    title: ["return after the payer has cancelled", "付款人取消后返回"],
    steps: [NEW_ORDER, CANCEL, VISIT, LOOK, TELL, VISIT, LOOK],
    causes: RETURN_BELIEF_CAUSES,
  },
  return_without_api: {
    title: ["return while the API answers 503, or not at all", "API 响应 503 或无响应时，顾客返回"],
    steps: [NEW_ORDER, API.busy, VISIT, LOOK, API.silent, VISIT, LOOK, API.up, PAYMENT],
    causes: { never_unpaid: "believes_without_api", booked_when_paid: "gives_up" },
  },
  return_api_refuses: {
    title: ["returns while the API refuses or cuts its answers", "API 拒绝请求或截断响应时，顾客返回"],
    steps: [NEW_ORDER, API_PROBLEMS.flatMap((fault) => [apiAnswers(fault), VISIT]), API.up, LOOK, PAYMENT],
    causes: { never_unpaid: "believes_without_api", booked_when_paid: "gives_up_refused" },
  },
  return_other_session: {
    title: ["return with the session of another order", "使用另一个订单的会话返回"],
    steps: [
      onEach(NEW_ORDER),
      VISIT_WITH_OTHER_SESSION,
      on("c", VISIT_WITH_OTHER_SESSION),
      on("b", PAY),
      VISIT_WITH_OTHER_SESSION,
      visitAs({ secondSession: "b" }),
      visitAs({ session: "b", secondSession: "a" }),
      SQL_ENDS.map((orderIdEnd) => visitAs({ session: "b", orderIdEnd })),
      LOOK,
      on("b", TELL, LOOK),
      LOOK,
      on("c", PAYMENT),
    ],
    causes: MIXED_SESSION_CAUSES,
  },
  return_one_browser: {
    title: ["two orders of one customer, in one browser", "同一客户在同一浏览器中的两个订单"],
    needs: ["setsIds"],
    isOneBrowser: true,
    steps: [NEW_ORDER, on("b", NEW_ORDER, PAY, VISIT), LOOK, on("b", TELL, LOOK), VISIT, PAYMENT],
    causes: MIXED_SESSION_CAUSES,
  },
  return_longer_session: {
    needs: ["setsIds"],
    title: ["return with the session of a longer order_id", "使用订单号更长的订单的会话返回"],
    neighbourKind: "shorter",
    steps: [NEW_ORDER, on("b", NEW_ORDER), PAY, TELL, on("b", visitAs({ session: "a" }), LOOK)],
    causes: MIXED_SESSION_CAUSES,
  },
  return_other_terms: {
    needs: ["create"],
    title: ["return with a session for a lower amount", "用金额更低的会话返回"],
    steps: [CANCELLED_ORDER, CHEAPER_CHECKOUT, VISIT, PAY, VISIT, LOOK, TELL, VISIT, LOOK],
    causes: { never_unpaid: "other_terms" },
  },
  return_second: {
    needs: ["create", "setsIds"],
    title: ["return after a cancellation, then a second attempt", "取消后返回，然后再次下单"],
    steps: [
      [NEW_ORDER, CANCEL, VISIT, TELL, VISIT, LOOK].flat(),
      [CREATE, VISIT, VISIT_WITH_FIRST_SESSION],
      [PAY, TELL, VISIT, LOOK, VISIT_WITH_FIRST_SESSION, LOOK],
      // The return page tells the shop of the end before the event arrives.
      on("b", NEW_ORDER, end("failed"), VISIT, CREATE_EARLY),
      on("b", tellFrom("first"), PAYMENT),
    ],
    causes: SECOND_ATTEMPT_CAUSES,
  },
  return_within_event: {
    title: ["returns while the payment event is handled", "处理支付事件期间返回"],
    steps: [
      NEW_ORDER,
      PAY,
      API.slow,
      atOnce(
        { tell: "a" },
        { steps: [VISIT], share: 0.5, during: "event" },
        { steps: [VISIT], share: 0.5, during: "event", delayMs: SLOW_API_MS },
      ),
      API.up,
      EVENTS_AGAIN,
    ],
    causes: RETURN_LOSS_CAUSES,
  },
  return_soon_after: sameMomentRow(0, 20),
  return_after: sameMomentRow(0, 60),
  return_late: sameMomentRow(0, 140),
  return_soon_before: sameMomentRow(30, 0),
  return_before: sameMomentRow(100, 0),
  return_early: sameMomentRow(200, 0),
});
