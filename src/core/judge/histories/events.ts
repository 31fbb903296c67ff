import type { Words } from "../../language.ts";
import type { NeighbourKind } from "../neighbours.ts";
import { ORDER_NAMES, type OrderName, type OtherTerms, type Step } from "../step.ts";
import {
  API,
  API_FAILURES,
  API_PROBLEMS,
  API_REFUSALS,
  apiAnswers,
  atOnce,
  BUY_AGAIN,
  CANCELLED_ORDER,
  causedBy,
  CREATE,
  end,
  endedAttempt,
  EVENTS_AGAIN,
  historiesWith,
  LOOK,
  LOST_WITHOUT_API_CAUSES,
  NEW_ORDER,
  NO_ANSWERS,
  on,
  onEach,
  PAY,
  PAYMENT,
  SECOND_ATTEMPT_CAUSES,
  SLOW_API_MS,
  startNow,
  TELL,
  TELL_CREATED,
  TELL_PAID,
  tellAs,
  tellFrom,
  tellOnly,
  tellWithSimilarId,
  UNPAID_ENDS,
  unchangedBy,
  wait,
  type ApiFault,
  type OrderStep,
  type Row,
  type UnpaidEnd,
} from "./steps.ts";

const KINDS = ["own", "other"] as const;
type Kind = (typeof KINDS)[number];

const AWAIT_QUESTION = { act: "await", of: "a", kind: "question" } as const;

function otherTermsRow(title: Words, ownTerms: OtherTerms, otherOrderTerms = ownTerms): Row {
  const onOtherTerms = (of: OrderName, kind: Kind, terms: OtherTerms): readonly Step[] =>
    on(of, CANCELLED_ORDER, { act: "create_elsewhere", of, terms, kind }, PAYMENT);
  return {
    title,
    needs: ["create"],
    steps: [onOtherTerms("a", "own", ownTerms), onOtherTerms("b", "other", otherOrderTerms)],
    causes: OTHER_TERMS_CAUSES,
  };
}

function endsElsewhere(kind: Kind, order: OrderName, ...laterSteps: readonly OrderStep[]): readonly Step[] {
  return UNPAID_ENDS.flatMap((outcome) => on(order, createElsewhere(kind), end(outcome), laterSteps));
}

const ALL_ENDS = KINDS.flatMap((kind) => endsElsewhere(kind, "a"));
const ALL_ENDS_WITH_EVENTS = KINDS.flatMap((kind) => [endsElsewhere(kind, "a", TELL), LOOK].flat());

function ordersElsewhere(kind: Kind, order: OrderName): readonly Step[] {
  return [...endsElsewhere(kind, order, TELL), ...paymentElsewhere(kind, order)];
}

function paymentElsewhere(kind: Kind, order: OrderName): readonly Step[] {
  return on(order, createElsewhere(kind), PAY, TELL);
}

function createElsewhere(kind: Kind): OrderStep {
  return { act: "create_elsewhere", of: "a", terms: "same", kind, templateOrder: "a" };
}

function lookAlikeRow(neighbourKind: NeighbourKind, title: Words): Row {
  return {
    title,
    needs: ["create", "setsIds"],
    neighbourKind,
    steps: [NEW_ORDER, paymentElsewhere("own", "b"), paymentElsewhere("own", "c"), LOOK, PAYMENT],
    causes: { ...MIX_UP_CAUSES, takes_events: "refuses_others" },
  };
}

function answersRow(faults: readonly ApiFault[], title: Words): Row {
  const answerSteps = faults.flatMap((fault, index) => {
    const order = ORDER_NAMES[index] ?? "a";
    return [apiAnswers(fault, order), ...on(order, TELL_PAID)];
  });
  return {
    title,
    needs: ["create"],
    steps: [onEach(NEW_ORDER, PAY), answerSteps, API.up, onEach(LOOK), onEach(TELL, LOOK)],
    causes: LOST_WITHOUT_API_CAUSES,
  };
}

function twinRow(neighbourKind: NeighbourKind, outcome: UnpaidEnd | "succeeded", title: Words): Row {
  return {
    title,
    needs: ["setsIds"],
    neighbourKind,
    steps: [NEW_ORDER, on("b", NEW_ORDER), PAYMENT, on("b", LOOK, end(outcome), TELL, LOOK), LOOK],
    causes: MIX_UP_CAUSES,
  };
}

/** Events that must not change a paid order and, except `again`, an unpaid order. */
const HARMLESS_EVENTS = {
  forged: [tellAs("forged", "created")],
  unknown: [tellAs("unknown_type")],
  onOtherTerms: (["less", "more", "other_currency", "like_currency"] as const).map((terms) =>
    tellAs(terms, "created"),
  ),
  again: [tellAs("other_id"), tellAs("late")],
};

const BOOKING_RULES = ["never_unpaid", "booked_when_paid", "booked_once", "final_stays"] as const;
const MIX_UP_CAUSES = causedBy("mixes_up", ...BOOKING_RULES);
const OTHER_TERMS_CAUSES = { never_unpaid: "other_terms" } as const;

const EVENT_HISTORY_DEFAULTS = { part: "duplicates" } as const;
const SECOND_ATTEMPT_DEFAULTS = { part: "duplicates", needs: ["create", "setsIds"] } as const;

const FIRST_ATTEMPTS = historiesWith(EVENT_HISTORY_DEFAULTS, {
  burst: {
    title: ["a payment delivered ten times at the same moment", "同一支付事件同时推送十次"],
    steps: [NEW_ORDER, PAY, atOnce({ tell: "a", copyCount: 10 }), LOOK],
    causes: { booked_once: "books_at_once" },
  },
  events_overlap: {
    title: ["the payment while another event is handled", "处理另一事件期间收到支付事件"],
    steps: [
      NEW_ORDER,
      PAY,
      atOnce(startNow(tellOnly("pending")), { tell: "a", afterMs: 50 }),
      EVENTS_AGAIN,
      on("b", NEW_ORDER, PAY, tellOnly("pending")),
      atOnce(startNow(...on("b", TELL_PAID)), {
        steps: on("b", tellOnly("pending")),
        share: 0.5,
        during: "event",
      }),
      on("b", EVENTS_AGAIN),
    ],
    causes: { booked_when_paid: "overwrites_later", final_stays: "overwrites_later" },
  },
  orders_at_once: {
    title: ["payments of three orders at the same moment", "三个订单的支付同时到达"],
    needs: ["setsIds"],
    neighbourKind: "last_character",
    steps: [
      onEach(NEW_ORDER),
      onEach(PAY),
      atOnce({ tell: "a" }, { tell: "b" }, { tell: "c" }),
      onEach(LOOK),
    ],
    causes: { booked_once: "lost_at_once", booked_when_paid: "lost_at_once", never_unpaid: "mixes_up" },
  },
  events_alike: {
    title: ["three payments whose event_ids begin or end alike", "三笔支付，event_id 的开头或结尾相同"],
    needs: ["create"],
    steps: [
      onEach(NEW_ORDER),
      onEach(PAY),
      TELL_PAID,
      tellWithSimilarId("b", "head"),
      tellWithSimilarId("c", "end"),
      onEach(LOOK),
    ],
    causes: { booked_when_paid: "confuses_events", takes_events: "confuses_events" },
  },
  payment_in_parts: {
    title: ["a payment whose body arrives in two parts", "支付事件的请求体分两段到达"],
    steps: [NEW_ORDER, PAY, tellAs("in_parts", "succeeded"), LOOK],
    causes: { booked_when_paid: "reads_part", takes_events: "reads_part" },
  },
  forged_payment: {
    title: ["a forged payment, with a wrong signature", "伪造的支付，签名错误"],
    steps: [
      unchangedBy(...HARMLESS_EVENTS.forged),
      on("c", NEW_ORDER, PAY, tellAs("forged", "succeeded"), TELL, LOOK),
    ],
    causes: {
      never_unpaid: "books_unverified",
      booked_once: "books_unverified",
      booked_when_paid: "remembers_forged",
    },
  },
  declined_attempt: {
    title: ["a declined attempt, then a payment", "支付被拒，之后支付成功"],
    steps: [CREATE, end("declined"), TELL, LOOK, PAYMENT],
  },
  payment_failed: { title: ["a payment that failed", "支付失败"], steps: endedAttempt("failed") },
  order_expired: { title: ["an order that expired", "订单过期"], steps: endedAttempt("expired") },
  order_cancelled: { title: ["an order that was cancelled", "订单取消"], steps: endedAttempt("cancelled") },
  unknown_type: {
    title: ["an event of a type from a later version", "事件类型来自后续版本"],
    steps: unchangedBy(...HARMLESS_EVENTS.unknown),
    causes: causedBy("books_unknown_type", ...BOOKING_RULES),
  },
  twin_case: twinRow("other_case", "failed", ["an order_id that differs in case", "订单号仅大小写不同"]),
  twin_longer: twinRow("longer", "expired", ["an order whose order_id is longer", "订单号更长的订单"]),
  twin_shorter: twinRow("shorter", "succeeded", ["an order whose order_id is shorter", "订单号更短的订单"]),
  twin_pattern: twinRow("pattern", "failed", [
    "an order_id that matches another one as a pattern",
    "订单号当作通配模式时会匹配另一订单号",
  ]),
  twin_marks: twinRow("marks", "failed", [
    "an order_id with other punctuation marks",
    "订单号仅标点符号不同",
  ]),
  twin_end: twinRow("same_end", "expired", ["an order_id with the same end", "订单号结尾相同"]),
  twin_head: twinRow("same_head", "cancelled", ["long order_ids that begin alike", "订单号很长且开头相同"]),
  other_terms_first: {
    title: [
      "payments of other amounts and currencies, then the order's own payment",
      "先收到金额或币种不同的支付，再收到本订单的支付",
    ],
    steps: unchangedBy(...HARMLESS_EVENTS.onOtherTerms),
    causes: { ...OTHER_TERMS_CAUSES, booked_when_paid: "place_taken", booked_once: "other_terms" },
  },
  events_late: {
    title: ["all events a day late, as after an outage", "全部事件迟到一天，如同服务中断之后"],
    steps: [CREATE, PAY, tellAs("late", "created", "pending", "succeeded"), LOOK],
    causes: { booked_when_paid: "lost_late" },
  },
  other_amount: otherTermsRow(["a payment of another amount", "金额不同的支付"], "less", "more"),
  other_currency: otherTermsRow(["a payment in another currency", "币种不同的支付"], "other_currency"),
  other_checkouts: {
    title: ["other checkouts of the order_id that end unpaid", "同一订单号的其他收款单未支付就结束"],
    needs: ["create"],
    steps: [CANCELLED_ORDER, ALL_ENDS_WITH_EVENTS],
    causes: { never_unpaid: "books_others", takes_events: "refuses_others" },
  },
  unknown_order: {
    title: ["orders of another system, with each outcome", "其他系统的订单，每种结果各一"],
    needs: ["create"],
    steps: [NEW_ORDER, ordersElsewhere("own", "b"), LOOK, PAYMENT, ordersElsewhere("other", "c"), LOOK],
    causes: { ...MIX_UP_CAUSES, takes_events: "refuses_others" },
  },
  look_alikes: lookAlikeRow("look_alike", [
    "order_ids that differ by an accent or a zero",
    "订单号仅差一个重音符号或一个零",
  ]),
  same_numbers: lookAlikeRow("same_number", ["order_ids that are the same number", "订单号表示同一数字"]),
  webhook_api_refuses: answersRow(API_REFUSALS, [
    "payments while the API answers 401, 403, 429",
    "API 返回 401、403、429 时的支付",
  ]),
  webhook_api_fails: answersRow(API_FAILURES, [
    "payments while the API answers 500 or incompletely",
    "API 返回 500 或不完整响应时的支付",
  ]),
  webhook_no_answer: answersRow(NO_ANSWERS, [
    "payments while the API resets connections, or does not answer",
    "API 重置连接或无响应时的支付",
  ]),
  api_refuses: {
    title: ["a payment after the API has refused requests", "API 拒绝查询之后的支付"],
    steps: [
      CREATE,
      API_PROBLEMS.flatMap((fault) => [apiAnswers(fault), TELL_CREATED, wait(700)]),
      API.up,
      PAYMENT,
    ],
    causes: { booked_when_paid: "gives_up_refused" },
  },
  many_at_once: {
    title: ["payments of eleven orders at the same moment", "十一个订单的支付同时到达"],
    needs: ["create", "setsIds"],
    steps: [
      atOnce(...ORDER_NAMES.map((order) => startNow(...on(order, NEW_ORDER, PAY)))),
      atOnce(...ORDER_NAMES.map((order) => ({ tell: order }))),
      ORDER_NAMES.flatMap((order) => on(order, LOOK)),
    ],
    causes: { booked_once: "lost_at_once", booked_when_paid: "lost_at_once" },
  },
  webhook_after_question: {
    title: ["the payment right after your shop has asked the API", "商店刚查询过 API，支付事件就到达"],
    steps: [
      on("a", NEW_ORDER, PAY, AWAIT_QUESTION, TELL_PAID, EVENTS_AGAIN),
      on("b", NEW_ORDER, PAY),
      // The event arrives while the answer is still on its way.
      apiAnswers({ action: "latency", latencyMs: SLOW_API_MS }, "b"),
      on("b", AWAIT_QUESTION, TELL_PAID, EVENTS_AGAIN),
    ],
    causes: { booked_once: "books_by_job", booked_when_paid: "books_by_job" },
  },
});

const SECOND_ATTEMPTS = historiesWith(SECOND_ATTEMPT_DEFAULTS, {
  second_each: {
    title: ["three orders bought again after they ended unpaid", "三个订单未支付就结束，之后再次下单"],
    steps: [
      on("a", endedAttempt("failed"), BUY_AGAIN),
      on("b", endedAttempt("expired"), BUY_AGAIN),
      on("c", endedAttempt("cancelled"), BUY_AGAIN),
    ],
  },
  second_after_others: {
    title: ["a second attempt after other checkouts have ended", "其他收款单结束后再次下单"],
    steps: [CANCELLED_ORDER, ALL_ENDS_WITH_EVENTS, CREATE, PAYMENT],
    causes: SECOND_ATTEMPT_CAUSES,
  },
  second_then_events: {
    title: ["a paid second attempt, then events to be ignored", "再次下单并支付，之后收到不应生效的事件"],
    steps: [CANCELLED_ORDER, CREATE, PAYMENT, Object.values(HARMLESS_EVENTS).flat(), LOOK],
  },
  second_numbered: {
    title: [
      "a second attempt, and orders whose order_ids end with its number",
      "再次下单，另有订单号以该次数结尾的订单",
    ],
    neighbourKind: "numbered",
    steps: [CANCELLED_ORDER, CREATE, on("b", NEW_ORDER), on("c", NEW_ORDER), PAYMENT, on("b", PAYMENT)],
    causes: { client_ends: "alike", one_order: "alike", booked_when_paid: "mixes_up" },
  },
  other_end_late: {
    title: ["a paid order, then late events of its other checkouts", "订单支付后，其他收款单的事件才到达"],
    steps: [CANCELLED_ORDER, ALL_ENDS, CREATE, PAYMENT, tellFrom("elsewhere"), LOOK],
    causes: SECOND_ATTEMPT_CAUSES,
  },
});

export const EVENT_HISTORIES = { ...FIRST_ATTEMPTS, ...SECOND_ATTEMPTS };
