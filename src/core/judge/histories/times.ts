import type { Words } from "../../language.ts";
import {
  API,
  apiAnswers,
  atOnce,
  BUY_AGAIN,
  CANCEL,
  causedBy,
  CREATE,
  end,
  EVENTS_AGAIN,
  historiesWith,
  LOOK,
  LOST_WITHOUT_API_CAUSES,
  NEW_ORDER,
  on,
  onEach,
  PAY,
  PAYMENT,
  SLOW_QUESTION_MS,
  startNow,
  TELL,
  TELL_PAID,
  tellAs,
  VISIT,
  wait,
  waitForOthers,
  type Row,
} from "./steps.ts";

const EVENTS_AT_ONCE = atOnce({ tell: "a" }, { tell: "b" });
const KILL_AT_ANSWERS = atOnce(
  { tell: "a" },
  { tell: "b" },
  { tell: "c" },
  { steps: [{ act: "restart" }], share: 1, during: "event" },
);
const SLOW_QUESTION_OF_B = apiAnswers({ action: "latency", latencyMs: SLOW_QUESTION_MS }, "b");
const RESTART_LOSS_CAUSES = causedBy("lost_at_restart", "booked_when_paid", "booked_once", "final_stays");

const LONG_DEFAULTS = { part: "duplicates" } as const;
const RESTART_DEFAULTS = { part: "duplicates", needs: ["restart"], pace: "alone" } as const;
const OUTAGE_DEFAULTS = { part: "duplicates", needs: ["create"], pace: "alone" } as const;

const MOMENTS = {
  at_event: {
    title: ["60 ms after the payment event", "收到支付事件 60 毫秒后"],
    steps: [PAY, { act: "restart", during: "a", afterMs: 60 }, TELL, LOOK],
    causes: RESTART_LOSS_CAUSES,
  },
  within_event: {
    title: ["while the payment event is handled", "处理支付事件期间"],
    steps: [PAY, { act: "restart", during: "a", share: 0.75 }, TELL, LOOK],
    causes: RESTART_LOSS_CAUSES,
  },
  after_answer: {
    title: ["right after the answer to the payment event", "响应支付事件后立即"],
    steps: [PAY, TELL_PAID, { act: "restart" }, LOOK, TELL_PAID, LOOK],
    causes: RESTART_LOSS_CAUSES,
  },
  after_return: {
    title: ["between a return and the payment event", "顾客返回之后、收到支付事件之前"],
    needs: ["returnUrl"],
    steps: [PAY, VISIT, { act: "restart" }, TELL, LOOK],
    causes: RESTART_LOSS_CAUSES,
  },
  second_attempt: {
    title: ["before a second attempt, or before its payment", "再次下单之前，或再次下单后、支付之前"],
    needs: ["create"],
    steps: [
      on("b", CREATE, end("failed"), TELL),
      [CANCEL, TELL, CREATE],
      { act: "restart" },
      PAYMENT,
      on("b", CREATE, PAYMENT),
    ],
    causes: { booked_when_paid: "gives_up_at_start" },
  },
  before_payment: {
    title: ["between creation and payment", "下单之后、支付之前"],
    steps: [{ act: "restart" }, PAYMENT],
    causes: { booked_when_paid: "gives_up_at_start" },
  },
  in_outage: {
    title: ["while the API answers 503, after the payment event", "收到支付事件后 API 返回 503 期间"],
    needs: ["create"],
    // The API fails before the payment, because a late question about the new order could find the order paid. The
    // event that shows that the shop has started is order a's, so it does not make the shop ask about order b.
    steps: [
      [...on("b", NEW_ORDER), apiAnswers({ action: "status", status: 503 }, "b"), ...on("b", PAY, TELL_PAID)],
      { act: "restart" },
      API.up,
      on("b", EVENTS_AGAIN),
    ],
    causes: RESTART_LOSS_CAUSES,
  },
} as const satisfies Readonly<Record<string, Row>>;

function restartRows<Name extends "restart" | "stop">(
  name: Name,
  [english, chinese]: Words,
): Readonly<Record<`${Name}_${keyof typeof MOMENTS}`, Row>> {
  const [modeFields, modeNeeds] =
    name === "stop" ? ([{ mode: "stop" }, ["server"]] as const) : ([{}, []] as const);
  const rows = Object.entries<Row>(MOMENTS).map(([momentName, moment]): [string, Row] => {
    const title: Words = [`${english} ${moment.title[0]}`, `${moment.title[1]}${chinese}`];
    const steps = moment.steps
      .flat()
      .map((step) => (step.act === "restart" ? Object.assign({}, step, modeFields) : step));
    const needs = [...(moment.needs ?? []), ...modeNeeds];
    return [`${name}_${momentName}`, { ...moment, title, steps: [NEW_ORDER, ...steps], needs }];
  });
  return Object.fromEntries(rows) as ReturnType<typeof restartRows<Name>>;
}

export const TIME_HISTORIES = {
  ...historiesWith(LONG_DEFAULTS, {
    paid_late: {
      title: ["an order that is paid long after it was created", "下单很久之后才支付"],
      steps: [NEW_ORDER, waitForOthers(15_000), BUY_AGAIN, PAYMENT],
      causes: { booked_when_paid: "gives_up_late" },
    },
    api_away: {
      title: ["a payment while the API answers 503 for 10 s", "API 持续 10 秒返回 503 期间的支付"],
      needs: ["create"],
      steps: [NEW_ORDER, PAY, API.busy, TELL_PAID, wait(10_000), API.up, waitForOthers(15_000), EVENTS_AGAIN],
      causes: LOST_WITHOUT_API_CAUSES,
    },
    pending_long: {
      title: ["a payment that stays pending", "一直处理中的支付"],
      steps: [CREATE, end("pending"), TELL, waitForOthers(15_000), LOOK],
      causes: { never_unpaid: "books_pending" },
    },
  }),
  ...historiesWith(RESTART_DEFAULTS, {
    ...restartRows("restart", ["a kill", "强制重启"]),
    ...restartRows("stop", ["an orderly stop", "正常停止"]),
    restart_in_return: {
      title: ["a kill while a return page is built", "返回页面生成期间强制重启"],
      needs: ["create", "returnUrl"],
      steps: [
        [NEW_ORDER, API.slow, VISIT, PAY].flat(),
        atOnce({ visit: "a" }, { steps: [{ act: "restart" }], share: 0.5, during: "visit" }),
        [API.up, TELL, LOOK],
      ],
      causes: RESTART_LOSS_CAUSES,
    },
    restart_while_repeated: {
      title: [
        "a kill after the payment event came again while it was handled",
        "支付事件处理期间再次推送后强制重启",
      ],
      needs: ["create"],
      steps: [
        NEW_ORDER,
        on("b", NEW_ORDER, PAY),
        SLOW_QUESTION_OF_B,
        atOnce(startNow(...on("b", tellAs("unanswered", "succeeded"))), {
          steps: [...on("b", TELL_PAID), { act: "restart" }],
          share: 0.3,
          during: "event",
          delayMs: SLOW_QUESTION_MS,
        }),
        API.up,
        on("b", EVENTS_AGAIN),
      ],
      causes: RESTART_LOSS_CAUSES,
    },
    restart_while_asked: {
      title: [
        "a kill while the API answers slowly, after the payment event",
        "收到支付事件后 API 响应缓慢期间强制重启",
      ],
      needs: ["create"],
      steps: [
        on("b", NEW_ORDER),
        NEW_ORDER,
        // Waits, so that a question about the new order does not find the order paid.
        wait(200),
        on("b", PAY),
        SLOW_QUESTION_OF_B,
        atOnce(startNow(...on("b", TELL_PAID)), {
          steps: [{ act: "restart" }],
          share: 0.3,
          during: "event",
          delayMs: SLOW_QUESTION_MS,
        }),
        API.up,
        on("b", EVENTS_AGAIN),
      ],
      causes: RESTART_LOSS_CAUSES,
    },
    restart_at_answers: {
      title: ["a kill while three answers are sent", "发送三个响应期间强制重启"],
      needs: ["create"],
      steps: [onEach(NEW_ORDER, PAY), KILL_AT_ANSWERS, onEach(LOOK), onEach(TELL, LOOK)],
      causes: RESTART_LOSS_CAUSES,
    },
  }),
  ...historiesWith(OUTAGE_DEFAULTS, {
    outage: {
      title: ["payments while the API answers 503, and after that", "API 返回 503 期间及恢复后的支付"],
      steps: [
        onEach(NEW_ORDER, PAY),
        API.busyForAll,
        EVENTS_AT_ONCE,
        EVENTS_AT_ONCE,
        API.up,
        on("c", TELL_PAID),
        onEach(LOOK),
        onEach(TELL),
        onEach(LOOK),
      ],
      causes: { booked_when_paid: "lost_after_outage", booked_once: "books_again" },
    },
  }),
};
