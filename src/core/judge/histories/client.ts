import { faultAt, type ScheduledFault } from "../schedule.ts";
import { MAX_TIMES, type OrderName, type Step } from "../step.ts";
import {
  API,
  atOnce,
  BUY_AGAIN,
  CANCELLED_ORDER,
  CREATE,
  end,
  historiesWith,
  LOOK,
  NEW_ORDER,
  on,
  onEach,
  PAY,
  PAYMENT,
  SECOND_ATTEMPT_CAUSES,
  startNow,
  TELL,
  TELL_CREATED,
  VISIT,
} from "./steps.ts";

function retriedCreate(order: OrderName): Step {
  return { act: "create", of: order, expects: "answer" };
}

function atCreate(ordinal: number, action: ScheduledFault["action"]): ScheduledFault {
  return faultAt({ method: "POST", nth: ordinal }, action);
}

function withFaults(...faults: readonly ScheduledFault[]): Step {
  return { act: "faults", of: "a", faults };
}

function underFaults(...faults: readonly ScheduledFault[]): readonly Step[] {
  return [withFaults(...faults), retriedCreate("a")];
}

const SIMILAR_CREATES = [retriedCreate("a"), retriedCreate("b"), retriedCreate("c")];

/** Loses the first answer, so that the order exists and another key for the order is refused. */
const ANSWER_LOST = atCreate(1, "lose_answer");

const ANSWERS_LOST: ScheduledFault = { action: "lose_answer", match: { method: "POST" }, times: 5 };

const CREATE_DEFAULTS = { part: "idempotency", needs: ["create", "setsIds"], pace: "creates" } as const;
const CONCURRENT_DEFAULTS = { part: "idempotency", needs: ["create"] } as const;

const ALWAYS_REFUSED: ScheduledFault = {
  action: "status",
  status: 403,
  match: { method: "POST" },
  times: MAX_TIMES,
};
const SLOW_ANSWER: ScheduledFault = {
  action: "latency",
  latencyMs: 1500,
  match: { method: "POST" },
  times: 1,
};
const CREATE_WITH_ITS_EVENT = atOnce(
  startNow(CREATE),
  startNow({ act: "await", of: "a", kind: "create" }, TELL_CREATED),
);

const BOOKING_DEFAULTS = { part: "duplicates", needs: ["create", "setsIds"], pace: "creates" } as const;

export const CLIENT_HISTORIES = {
  ...historiesWith(CREATE_DEFAULTS, {
    answer_lost: {
      title: ["a create whose answer is lost", "创建请求的响应丢失"],
      steps: underFaults(ANSWER_LOST),
    },
    client_killed: {
      title: ["a client killed once its order exists, then run again", "订单创建后客户端被终止，再次运行"],
      needs: ["kill"],
      pace: "alone",
      steps: underFaults(atCreate(1, "kill")),
    },
    answer_lost_twice: {
      title: ["a create whose answer is lost twice", "创建请求的响应丢失两次"],
      steps: underFaults(ANSWER_LOST, atCreate(2, "lose_answer")),
    },
    answer_cut: {
      title: [
        "a create whose first answer is cut off and whose second answer is empty",
        "创建请求的首次响应被截断，第二次响应为空",
      ],
      steps: underFaults(atCreate(1, "truncate"), atCreate(2, "empty")),
    },
    create_unsent: {
      title: ["a create lost in transit, then a connection reset", "创建请求在途中丢失，之后连接被重置"],
      steps: underFaults(atCreate(1, "lose_request"), atCreate(2, "reset")),
    },
    create_5xx: {
      title: ["a create whose answer is lost, then 503, then 502", "创建请求的响应丢失，之后返回 503、502"],
      steps: underFaults(ANSWER_LOST, { ...atCreate(2, "status"), status: 503 }, atCreate(3, "status")),
    },
    create_429: {
      title: ["a create whose answer is lost, then 429", "创建请求的响应丢失，之后返回 429"],
      steps: underFaults(ANSWER_LOST, atCreate(2, "rate_limit")),
    },
    keys_case: {
      title: ["creates whose order_ids differ by case or a zero", "创建请求的订单号仅大小写不同或差一个零"],
      neighbourKind: "other_case",
      steps: SIMILAR_CREATES,
    },
    keys_digits: {
      title: ["creates for order_ids whose digits are similar", "创建请求的订单号数字相似"],
      neighbourKind: "digits",
      steps: [...SIMILAR_CREATES, retriedCreate("d")],
    },
    bought_again_paid: {
      title: ["an order bought again after its payment", "支付后再次下单"],
      steps: [CREATE, PAYMENT, CREATE, LOOK],
      causes: { final_stays: "create_resets", one_order: "pays_twice" },
    },
    conflict: {
      title: ["a create that gets 409, and a second create", "创建请求收到 409，之后再次创建"],
      steps: [
        withFaults({ action: "status", status: 409, match: { method: "POST" } }),
        { act: "create", of: "a", expects: "refusal" },
        API.up,
        CREATE,
      ],
      causes: { one_order: "conflict_new_order" },
    },
  }),
  ...historiesWith(CONCURRENT_DEFAULTS, {
    answers_lost: {
      title: ["a create whose answer is lost five times", "创建请求的响应连续丢失五次"],
      needs: ["setsIds"],
      steps: underFaults(ANSWERS_LOST),
    },
    bought_at_once: {
      title: ["an order bought four times at once", "同一订单同时下单四次"],
      needs: ["setsIds"],
      steps: [
        { act: "create", of: "a", times: 4 },
        { act: "create", of: "b", times: 4 },
      ],
      causes: { one_order: "double_click", client_ends: "double_click" },
    },
    orders_bought_at_once: {
      title: ["three orders bought at the same moment", "同一时刻购买三个订单"],
      needs: ["setsIds"],
      steps: [
        atOnce(startNow(CREATE), startNow(...on("b", CREATE)), startNow(...on("c", CREATE))),
        onEach(TELL_CREATED, PAYMENT),
      ],
    },
    second_at_once: {
      title: ["an order bought four times at once after it was cancelled", "取消后同时下单四次"],
      needs: ["setsIds"],
      steps: [CANCELLED_ORDER, { act: "create", of: "a", times: 4 }, PAYMENT],
      causes: { ...SECOND_ATTEMPT_CAUSES, one_order: "double_click", client_ends: "double_click" },
    },
    bought_again_open: {
      title: ["an order bought again while open, pending or just paid", "待支付、处理中或刚支付时再次下单"],
      needs: ["setsIds"],
      steps: [
        on("a", NEW_ORDER, CREATE),
        API.busy,
        BUY_AGAIN,
        API.up,
        on("a", BUY_AGAIN, PAYMENT),
        on("b", NEW_ORDER, end("declined"), TELL, BUY_AGAIN, PAYMENT),
        on("c", NEW_ORDER, PAY, BUY_AGAIN, TELL, LOOK),
      ],
      causes: { booked_when_paid: "gives_up_again" },
    },
    bought_after_return: {
      title: ["an order bought again after a return without a payment", "未支付就返回后再次下单"],
      needs: ["setsIds", "returnUrl"],
      steps: [
        on("a", NEW_ORDER, VISIT, BUY_AGAIN, PAYMENT),
        on("b", NEW_ORDER, end("pending"), VISIT, BUY_AGAIN, PAYMENT),
      ],
      causes: { booked_when_paid: "gives_up" },
    },
    bought_other_method: {
      title: ["an open order bought again with another payment method", "待支付时换一种支付方式再次下单"],
      needs: ["setsIds", "otherMethod"],
      steps: [
        on("a", NEW_ORDER, { act: "create", of: "a", hasOtherMethod: true, expects: "nothing" }, PAYMENT),
      ],
      causes: { one_order: "two_methods", one_key: "other_method_key" },
    },
    lost_other_method: {
      title: [
        "an order bought with another payment method after lost answers",
        "响应丢失后换一种支付方式再次下单",
      ],
      needs: ["setsIds", "otherMethod"],
      steps: [
        withFaults(ANSWERS_LOST),
        { act: "create", of: "a", expects: "refusal" },
        API.up,
        { act: "create", of: "a", hasOtherMethod: true, expects: "nothing" },
        PAYMENT,
      ],
      causes: { one_order: "two_methods", one_key: "other_method_key" },
    },
    refused_for_good: {
      title: ["creates that are always refused", "创建请求始终被拒绝"],
      pace: "creates",
      steps: [withFaults(ALWAYS_REFUSED), { act: "create", of: "a", expects: "refusal" }, API.up],
      causes: { client_ends: "never_gives_up" },
    },
  }),
  ...historiesWith(BOOKING_DEFAULTS, {
    created_early: {
      title: ["the order's first event before its create is answered", "首个事件先于创建请求的响应到达"],
      steps: [withFaults(SLOW_ANSWER), CREATE_WITH_ITS_EVENT, PAYMENT],
      causes: { booked_when_paid: "early_forgotten" },
    },
    second_answer_cut: {
      // The second attempt may have any order_id, so a checkout of another history could be taken for it.
      pace: "alone",
      title: ["a second attempt whose answer is cut off", "再次下单的响应被截断"],
      steps: [CANCELLED_ORDER, ...underFaults(atCreate(1, "truncate"))],
    },
  }),
  ...historiesWith(CREATE_DEFAULTS, {
    client_stopped: {
      title: [
        "a shop stopped while its create is sent, then used again",
        "创建请求发送期间商店正常停止，再次下单",
      ],
      needs: ["kill", "server"],
      pace: "alone",
      killMode: "stop",
      steps: underFaults(atCreate(1, "kill")),
    },
  }),
};
