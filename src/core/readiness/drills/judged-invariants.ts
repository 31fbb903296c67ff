import { INVARIANTS } from "./invariants.ts";
import type { Words } from "../../language.ts";

/** The rules by which histories are judged, each with its remedy: those of `explore`, and on keys, answers and the process. */
export const JUDGED_INVARIANTS = {
  ...INVARIANTS,
  one_key: {
    rule: ["each purchase has one key of its own", "每次购买都有自己的一个幂等键"],
    remedy: [
      "Store the Idempotency-Key of a purchase before its first request, or derive it from the whole order_id and the attempt, and send it with every request of that purchase.",
      "在首次请求之前保存该次购买的 Idempotency-Key，或由完整的 order_id 和次数推导，该次购买的每个请求都使用它。",
    ],
  },
  refuses_forged: {
    rule: ["a forged event is never answered 2xx", "伪造的事件绝不返回 2xx"],
    remedy: [
      "Verify the signature over the raw body before anything else, and answer 400 if it does not match, whatever the order's state is.",
      "首先对原始正文验签；不匹配时无论订单状态如何都返回 400。",
    ],
  },
  takes_events: {
    rule: ["every genuine event ends with a 2xx", "每个真实的事件最终都得到 2xx"],
    remedy: [
      "Answer 2xx to an event that is known, late or of no interest, and leave the order unchanged: an event without a 2xx is sent again and again, and delays the events after it.",
      "对已知、迟到或不关心的事件也返回 2xx，并保持订单不变：没有得到 2xx 的事件会反复推送，并阻塞后续事件。",
    ],
  },
  stays_up: {
    rule: ["the shop goes on, whatever is sent to it", "无论收到什么，商店都继续运行"],
    remedy: [
      "The process of the shop has ended: read its output for the error that nobody caught, and let it answer 4xx or 5xx instead.",
      "商店的进程已结束：请在其输出中查找未捕获的错误，改为返回 4xx 或 5xx。",
    ],
  },
} as const satisfies Readonly<Record<string, { readonly rule: Words; readonly remedy: Words }>>;
/** The name of such a rule. */
export type JudgedInvariant = keyof typeof JUDGED_INVARIANTS;
