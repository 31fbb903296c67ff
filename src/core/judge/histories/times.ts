// The histories of time: restarts, a customer who pays late, an API that is down for a while.
import type { Words } from "../../language.ts";
import type { History, Step } from "../step.ts";
import {
  BUY_AGAIN,
  API_UP,
  API_DOWN,
  API_BUSY,
  CANCEL,
  CREATE,
  historiesWith,
  end,
  TELL_CREATED,
  LOOK,
  on,
  onEach,
  PAY,
  TELL_PAID,
  TELL,
  VISIT,
  wait,
} from "./steps.ts";

const EVENTS_AT_ONCE: Extract<Step, { act: "at_once" }> = {
  act: "at_once",
  acts: [{ tell: "a" }, { tell: "b" }],
};
const KILL_AT_ANSWERS: Step = {
  act: "at_once",
  acts: [...EVENTS_AT_ONCE.acts, { tell: "c" }, { steps: [{ act: "restart" }], share: 1, during: "event" }],
};
const RESTART_LOSS_CAUSES = {
  booked_when_paid: "lost_at_restart",
  booked_once: "lost_at_restart",
  final_stays: "lost_at_restart",
} as const;

const LONG_FIELDS = { part: "duplicates" } as const;
const RESTART_FIELDS = { part: "duplicates", needs: ["restart"], isAlone: true } as const;
const OUTAGE_FIELDS = { part: "duplicates", needs: ["create"], isAlone: true } as const;

type Row = Omit<History, "part">;

/** The moments of a restart, after the create. */
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
    title: ["before a second attempt, or before its payment", "再次下单之前或其支付之前"],
    needs: ["create"],
    steps: [
      ...on("b", CREATE, end("failed"), TELL),
      ...on("a", CANCEL, TELL, CREATE),
      { act: "restart" },
      ...on("a", PAY, TELL, LOOK),
      ...on("b", CREATE, PAY, TELL, LOOK),
    ],
    causes: { booked_when_paid: "gives_up_at_start" },
  },
  before_payment: {
    title: ["between creation and payment", "下单之后、支付之前"],
    steps: [{ act: "restart" }, PAY, TELL, LOOK],
    causes: { booked_when_paid: "gives_up_at_start" },
  },
} as const satisfies Readonly<Record<string, Row>>;

/** A restart at each moment: by a kill, or by an orderly stop. */
function restartRows<Name extends "restart" | "stop">(
  name: Name,
  [english, chinese]: Words,
): Readonly<Record<`${Name}_${keyof typeof MOMENTS}`, Row>> {
  const [stepFields, servedNeeds]: [object, Row["needs"]] =
    name === "stop" ? [{ mode: name }, ["server"]] : [{}, []];
  const rows = Object.entries<Row>(MOMENTS).map(([momentName, { title, steps, causes = {}, needs = [] }]) => {
    const restartTitle: Words = [`${english} ${title[0]}`, `${title[1]}${chinese}`];
    const ownSteps = steps.map((step) => (step.act === "restart" ? { ...step, ...stepFields } : step));
    const row = {
      title: restartTitle,
      steps: [CREATE, TELL_CREATED, ...ownSteps],
      causes,
      needs: [...needs, ...(servedNeeds ?? [])],
    };
    return [`${name}_${momentName}`, row] as const;
  });
  return Object.fromEntries<Row>(rows) as ReturnType<typeof restartRows<Name>>;
}

/** Waits until the other histories have ended, and at least `minMs`. */
function waitForOthers(minMs: number): Step {
  return { act: "wait_for_others", minMs };
}

export const TIME_HISTORIES = {
  ...historiesWith(LONG_FIELDS, {
    paid_late: {
      title: ["an order that is paid long after it was created", "下单很久之后才支付"],
      steps: [CREATE, TELL_CREATED, waitForOthers(15_000), BUY_AGAIN, PAY, TELL, LOOK],
      causes: { booked_when_paid: "gives_up_late" },
    },
    api_away: {
      title: ["a payment while the API answers 503 for 10 s", "API 持续 10 秒返回 503 期间的支付"],
      needs: ["create"],
      steps: [
        CREATE,
        TELL_CREATED,
        PAY,
        API_BUSY,
        TELL_PAID,
        wait(10_000),
        API_UP,
        waitForOthers(15_000),
        LOOK,
        TELL,
        LOOK,
      ],
      causes: { booked_when_paid: "lost_without_api", booked_once: "books_again" },
    },
    much_later: {
      title: ["the same payment event again, more than 30 s later", "超过 30 秒后再次推送同一支付事件"],
      isLong: true,
      steps: [CREATE, TELL_CREATED, PAY, TELL_PAID, LOOK, waitForOthers(31_000), TELL_PAID, LOOK],
      causes: { booked_once: "forgets" },
    },
  }),
  ...historiesWith(RESTART_FIELDS, {
    ...restartRows("restart", ["a kill", "强制重启"]),
    ...restartRows("stop", ["an orderly stop", "正常停止"]),
    restart_at_answers: {
      title: ["a kill while three answers are sent", "发送三个响应期间强制重启"],
      needs: ["create"],
      steps: [...onEach(CREATE, TELL_CREATED, PAY), KILL_AT_ANSWERS, ...onEach(LOOK), ...onEach(TELL, LOOK)],
      causes: RESTART_LOSS_CAUSES,
    },
  }),
  ...historiesWith(OUTAGE_FIELDS, {
    outage: {
      title: ["payments while the API answers 503, and after that", "API 返回 503 期间及恢复后的支付"],
      steps: [
        ...onEach(CREATE, TELL_CREATED, PAY),
        API_DOWN,
        EVENTS_AT_ONCE,
        EVENTS_AT_ONCE,
        API_UP,
        ...on("c", TELL_PAID),
        ...onEach(LOOK),
        ...onEach(TELL),
        ...onEach(LOOK),
      ],
      causes: { booked_when_paid: "lost_after_outage", booked_once: "books_again" },
    },
  }),
};
