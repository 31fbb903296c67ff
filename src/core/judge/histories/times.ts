// The histories of time: a customer who pays late, restarts before the payment, an API that is away for a while.
import type { History } from "../step.ts";
import { API_AGAIN, API_AWAY, create, known, look, on, onEach, pay, payment, tell } from "./steps.ts";

const BOTH_AT_ONCE = { act: "at_once", acts: [{ tell: "a" }, { tell: "b" }] } as const;
const RESTARTED = { part: "duplicates", needs: ["restart"], isAlone: true } as const;

/** The histories of time, in the order in which they start. */
export const TIME_HISTORIES = {
  restart_before_payment: {
    ...RESTARTED,
    title: ["a restart between the create and the payment", "下单之后、支付之前重启"],
    steps: [create, known, { act: "restart" }, pay, tell, look],
    causes: { booked_when_paid: "gives_up_at_start" },
  },
  stop_before_payment: {
    ...RESTARTED,
    title: [
      "an orderly stop and a start between the create and the payment",
      "下单之后、支付之前正常停止并启动",
    ],
    steps: [create, known, { act: "restart", how: "stop" }, pay, tell, look],
    causes: { booked_when_paid: "gives_up_at_start" },
  },
  paid_late: {
    part: "duplicates",
    title: ["an order that is paid long after its create", "下单很久之后才支付"],
    steps: [create, known, { act: "wait_for_others", leastMs: 15_000 }, pay, tell, look],
    causes: { booked_when_paid: "gives_up_late" },
  },
  outage: {
    part: "duplicates",
    title: [
      "two payments, told twice, while the API answers 503, and another one right after it",
      "API 返回 503 期间两笔支付各推送两次，恢复后立即有另一笔支付",
    ],
    needs: ["create"],
    isAlone: true,
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
} as const satisfies Readonly<Record<string, History>>;
