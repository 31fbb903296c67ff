// The histories of time: restarts, a customer who pays late, an API that is away for a while.
import type { Step } from "../step.ts";
import { API_AGAIN, API_AWAY, create, each, known, look, on, onEach, pay, payment, tell } from "./steps.ts";

const BOTH_AT_ONCE: Step = { act: "at_once", acts: [{ tell: "a" }, { tell: "b" }] };
const GIVES_UP = { booked_when_paid: "gives_up_at_start" } as const;
const LOST_AT_RESTART = {
  booked_when_paid: "lost_at_restart",
  booked_once: "lost_at_restart",
  final_stays: "lost_at_restart",
} as const;

const LASTING = { part: "duplicates" } as const;
const RESTARTS = { part: "duplicates", needs: ["restart"], isAlone: true } as const;
const OUTAGES = { part: "duplicates", needs: ["create"], isAlone: true } as const;

/** The histories of time, in the order in which they start. */
export const TIME_HISTORIES = {
  ...each(LASTING, {
    paid_late: {
      title: ["an order that is paid long after its create", "下单很久之后才支付"],
      steps: [create, known, { act: "wait_for_others", leastMs: 15_000 }, pay, tell, look],
      causes: { booked_when_paid: "gives_up_late" },
    },
  }),
  ...each(RESTARTS, {
    restart_at_event: {
      title: ["a restart 60 ms after the payment event", "收到支付事件 60 毫秒后重启"],
      steps: [create, known, pay, { act: "restart", during: "a", afterMs: 60 }, tell, look],
      causes: LOST_AT_RESTART,
    },
    restart_within_event: {
      title: ["a restart while the shop handles the payment event", "商店处理支付事件期间重启"],
      steps: [create, known, pay, { act: "restart", during: "a", part: 0.75 }, tell, look],
      causes: LOST_AT_RESTART,
    },
    restart_after_answer: {
      title: ["a restart right after the answer to the payment event", "返回支付事件的响应后立即重启"],
      steps: [create, known, pay, payment, { act: "restart" }, look, payment, look],
      causes: LOST_AT_RESTART,
    },
    restart_before_payment: {
      title: ["a restart between the create and the payment", "下单之后、支付之前重启"],
      steps: [create, known, { act: "restart" }, pay, tell, look],
      causes: GIVES_UP,
    },
    stop_before_payment: {
      title: ["an orderly stop between the create and the payment", "下单之后、支付之前正常停止"],
      steps: [create, known, { act: "restart", how: "stop" }, pay, tell, look],
      causes: GIVES_UP,
    },
  }),
  ...each(OUTAGES, {
    outage: {
      title: ["payments while the API answers 503, and after it", "API 返回 503 期间及恢复后的支付"],
      steps: [
        ...onEach(create, known, pay),
        API_AWAY,
        BOTH_AT_ONCE,
        BOTH_AT_ONCE,
        API_AGAIN,
        ...on("c", payment),
        ...onEach(look),
        ...onEach(tell),
        ...onEach(look),
      ],
      causes: { booked_when_paid: "lost_after_outage", booked_once: "books_again" },
    },
  }),
};
