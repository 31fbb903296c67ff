// The histories of a customer who returns.
import type { Words } from "../../language.ts";
import type { History, Step } from "../step.ts";
import {
  API_UP,
  API_BUSY,
  API_FAILURES,
  API_REFUSALS,
  API_SILENT,
  API_SLOW,
  apiAnswers,
  CANCEL,
  CREATE,
  historiesWith,
  CREATE_EARLY,
  end,
  TELL_CREATED,
  LOOK,
  unchangedBy,
  on,
  PAY,
  TELL_PAID,
  visitAs,
  SECOND_ATTEMPT_CAUSES,
  SLOW_API_MS,
  TELL,
  tellFrom,
  VISIT,
} from "./steps.ts";

/** Queries that report success, with the parameters of several services. */
export const PAID_QUERY = "&status=succeeded&paid=true&redirect_status=succeeded&trade_status=TRADE_SUCCESS";
const SECOND_PAID_QUERY = "&status=paid&payment_status=paid&success=true&result=success&result_code=SUCCESS";
const THIRD_PAID_QUERY = "&status=success&state=completed&success=1&paid=1";

type Row = Omit<History, "part">;

/** The payment event and two returns reach the shop, each after its own delay in milliseconds. */
function sameMomentRow(webhookMs: number, returnMs: number): Row {
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
    steps: [CREATE, TELL_CREATED, PAY, sameMomentStep, LOOK, TELL, LOOK],
    causes: { booked_once: "books_by_both", booked_when_paid: "books_by_both" },
  };
}

function sameMomentTitle(delayMs: number): Words {
  if (delayMs === 0) return ["the webhook and two returns at the same moment", "Webhook 与两次返回同时到达"];
  return delayMs > 0
    ? [`two returns ${delayMs} ms after the webhook`, `两次返回比 Webhook 晚 ${delayMs} 毫秒`]
    : [`two returns ${-delayMs} ms before the webhook`, `两次返回比 Webhook 早 ${-delayMs} 毫秒`];
}

/** The customer pays, and the event arrives, while a return page is being built, which asks a slow API. */
function withinReturnRow(share: number, title: Words): Row {
  const sameMomentStep: Step = {
    act: "at_once",
    acts: [{ visit: "a" }, { steps: [PAY, TELL_PAID], share, during: "visit" }],
  };
  return {
    title,
    steps: [CREATE, TELL_CREATED, API_SLOW, VISIT, sameMomentStep, API_UP, LOOK, TELL, LOOK],
    causes: RETURN_LOSS_CAUSES,
  };
}

const RETURN_LOSS_CAUSES = {
  booked_once: "books_by_both",
  booked_when_paid: "lost_by_return",
  final_stays: "lost_by_return",
} as const;
const TWO_VISITS_AT_ONCE: Step = { act: "at_once", acts: [{ visit: "a" }, { visit: "a" }] };
const CREATE_B = on("b", CREATE, TELL_CREATED);
const VISIT_WITH_OTHER_SESSION = visitAs({ session: "b" });
/** A visit in a tab of the first attempt. */
const VISIT_WITH_FIRST_SESSION = visitAs({ session: "first" });
const CHEAPER_CHECKOUT: Step = { act: "create_elsewhere", of: "a", terms: "less" };
const MIXED_SESSION_CAUSES = {
  never_unpaid: "mixes_orders",
  booked_when_paid: "mixes_orders",
  booked_once: "mixes_orders",
} as const;
const RETURN_BELIEF_CAUSES = { never_unpaid: "believes_return", booked_when_paid: "gives_up" } as const;

const COMMON_FIELDS = { part: "browser_return", needs: ["returnUrl"] } as const;

export const RETURN_HISTORIES = historiesWith(COMMON_FIELDS, {
  return_same_moment: sameMomentRow(0, 0),
  return_without_payment: {
    title: ["return before the payment", "未支付就返回，之后才支付"],
    steps: [CREATE, TELL_CREATED, VISIT, LOOK, PAY, TELL, LOOK],
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
    ),
    causes: RETURN_BELIEF_CAUSES,
  },
  return_before_webhook: {
    title: ["two returns at once before the webhook, and one after", "Webhook 之前同时返回两次，之后一次"],
    steps: [CREATE, TELL_CREATED, PAY, TWO_VISITS_AT_ONCE, LOOK, TELL, LOOK, VISIT, LOOK],
    causes: { never_unpaid: "paid_without_asking", booked_once: "books_by_both" },
  },
  return_pending: {
    title: ["return while the payment is pending", "支付处理中时返回"],
    steps: [CREATE, TELL_CREATED, end("declined"), VISIT, LOOK, TELL, VISIT, LOOK, PAY, TELL, LOOK],
    causes: RETURN_BELIEF_CAUSES,
  },
  return_cancelled: {
    title: ["return after the payer has cancelled", "付款人取消后返回"],
    steps: [CREATE, TELL_CREATED, CANCEL, VISIT, LOOK, TELL, VISIT, LOOK],
    causes: RETURN_BELIEF_CAUSES,
  },
  return_without_api: {
    title: ["return while the API answers 503, or not at all", "API 返回 503 或没有响应时返回"],
    steps: [CREATE, TELL_CREATED, API_BUSY, VISIT, LOOK, API_SILENT, VISIT, LOOK, API_UP, PAY, TELL, LOOK],
    causes: { never_unpaid: "believes_without_api", booked_when_paid: "gives_up" },
  },
  return_api_refuses: {
    title: ["returns while the API refuses or cuts its answers", "API 拒绝或截断响应时返回"],
    steps: [
      CREATE,
      TELL_CREATED,
      ...[...API_REFUSALS, ...API_FAILURES].flatMap((fault) => [apiAnswers(fault), VISIT]),
      API_UP,
      LOOK,
      PAY,
      TELL,
      LOOK,
    ],
    causes: { never_unpaid: "believes_without_api", booked_when_paid: "gives_up_refused" },
  },
  return_other_session: {
    title: ["return with the session of another order", "使用另一个订单的会话返回"],
    steps: [
      CREATE,
      TELL_CREATED,
      ...CREATE_B,
      ...on("c", CREATE, TELL_CREATED),
      VISIT_WITH_OTHER_SESSION,
      ...on("c", VISIT_WITH_OTHER_SESSION),
      ...on("b", PAY),
      VISIT_WITH_OTHER_SESSION,
      LOOK,
      ...on("b", TELL, LOOK),
      LOOK,
      ...on("c", PAY, TELL, LOOK),
    ],
    causes: MIXED_SESSION_CAUSES,
  },
  return_longer_session: {
    needs: ["setsIds"],
    title: ["return with the session of a longer order_id", "使用订单号更长的订单的会话返回"],
    neighbourKind: "shorter",
    steps: [CREATE, TELL_CREATED, ...CREATE_B, PAY, TELL, ...on("b", visitAs({ session: "a" }), LOOK)],
    causes: MIXED_SESSION_CAUSES,
  },
  return_other_terms: {
    needs: ["create"],
    title: ["return with a session for a lower amount", "用金额更低的会话返回"],
    steps: [CREATE, CANCEL, TELL, CHEAPER_CHECKOUT, VISIT, PAY, VISIT, LOOK, TELL, VISIT, LOOK],
    causes: { never_unpaid: "other_terms" },
  },
  return_second: {
    needs: ["create", "setsIds"],
    title: ["return after a cancellation, then a second attempt", "取消后返回，然后再次下单"],
    steps: [
      CREATE,
      TELL_CREATED,
      CANCEL,
      VISIT,
      TELL,
      VISIT,
      LOOK,
      CREATE,
      VISIT,
      VISIT_WITH_FIRST_SESSION,
      PAY,
      TELL,
      VISIT,
      LOOK,
      VISIT_WITH_FIRST_SESSION,
      LOOK,
      // The return page tells the shop of the end before the event arrives.
      ...on("b", CREATE, TELL_CREATED, end("failed"), VISIT, CREATE_EARLY),
      ...on("b", tellFrom("first"), PAY, TELL, LOOK),
    ],
    causes: SECOND_ATTEMPT_CAUSES,
  },
  return_begun: withinReturnRow(0.2, ["a payment at the start of a return page", "返回页面生成之初支付"]),
  return_half: withinReturnRow(0.5, ["a payment halfway through a return page", "返回页面生成中途支付"]),
  return_ending: withinReturnRow(0.8, ["a payment at the end of a return page", "返回页面生成末尾支付"]),
  return_within_event: {
    title: ["returns while the payment event is handled", "处理支付事件期间返回"],
    steps: [
      CREATE,
      TELL_CREATED,
      PAY,
      API_SLOW,
      {
        act: "at_once",
        acts: [
          { tell: "a" },
          { steps: [VISIT], share: 0.5, during: "event" },
          { steps: [VISIT], share: 0.5, during: "event", delayMs: SLOW_API_MS },
        ],
      },
      API_UP,
      LOOK,
      TELL,
      LOOK,
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
