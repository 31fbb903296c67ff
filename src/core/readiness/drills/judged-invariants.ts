import type { Words } from "../../language.ts";

export const JUDGED_INVARIANTS = {
  one_order: {
    rule: ["one purchase creates one order", "一次购买只产生一个订单"],
    remedy: [
      "Store the order_id and the Idempotency-Key of a purchase before its first request, and send both unchanged with every retry.",
      "在首次请求之前保存该次购买的 order_id 和 Idempotency-Key，每次重试都原样发送。",
    ],
  },
  client_ends: {
    rule: [
      "every purchase ends, either with its order or with a reported failure",
      "购买总会结束：得到订单，或明确报告失败",
    ],
    remedy: [
      "Limit the number of retries and the time of each, and report success only for a complete 201 answer.",
      "限制重试次数和每次的时间；只有收到完整的 201 响应才提示成功。",
    ],
  },
  recovery: {
    rule: [
      "after a failure, repeating the purchase ends with its one order and its payment page",
      "失败之后再次发起同一购买，会得到同一个订单及其支付页面",
    ],
    remedy: [
      "Store the Idempotency-Key and the body before the first request, and send both unchanged until there is an answer.",
      "在首次请求之前保存 Idempotency-Key 和请求体，原样重发直到得到响应。",
    ],
  },
  booked_once: {
    rule: ["a payment is booked at most once", "一笔支付最多入账一次"],
    remedy: [
      "Insert the event_id of each event into a column with a unique index, in the same transaction as the booking, and answer 2xx to a known event without booking again.",
      "在入账的同一事务中把 event_id 插入带唯一索引的列；对已知的事件返回 2xx，不再入账。",
    ],
  },
  never_unpaid: {
    rule: ["an order is not booked without a payment", "没有支付就不入账"],
    remedy: [
      "Book only order.succeeded and checkout_session.succeeded, or a status of succeeded from GET /v1/checkout-sessions/{id}.",
      "只能依据 order.succeeded 和 checkout_session.succeeded，或 GET /v1/checkout-sessions/{id} 返回的 succeeded 状态入账。",
    ],
  },
  right_amount: {
    rule: ["the booked amount is the amount of the order", "入账金额等于订单金额"],
    remedy: [
      "Verify the event first, then compare its amount_minor and currency with the order, in whole minor units: 19.99 * 100 is not 1999.",
      "先验签，再以最小货币单位的整数与订单比较 amount_minor 和 currency：19.99 * 100 不等于 1999。",
    ],
  },
  booked_when_paid: {
    rule: ["a paid order whose events were delivered is booked", "订单已支付且事件已推送，就会入账"],
    remedy: [
      "Answer 2xx only after the booking is stored, otherwise 5xx, so that the event is sent again.",
      "入账已保存才返回 2xx，否则返回 5xx，以便重新推送该事件。",
    ],
  },
  final_stays: {
    rule: ["a paid order stays paid", "已支付的订单始终保持已支付状态"],
    remedy: [
      "Never go back from a final status: compare the sequence of events, or ask GET /v1/checkout-sessions/{id}.",
      "最终状态不可回退：请比较事件的 sequence，或查询 GET /v1/checkout-sessions/{id}。",
    ],
  },
  secrets_kept: {
    rule: [
      "no secret appears in a v1 request (except its Authorization header), in an answer to a webhook, in the output of the purchase or in the view of the order; no other places are checked",
      "密钥不会出现在 v1 的请求（Authorization 头除外）、对 Webhook 的响应、购买的输出或订单视图中；其他地方不作检查",
    ],
    remedy: [
      "Keep the API key and the signing secret out of descriptions, addresses, pages, messages and logs; do not print the environment, and turn off debug pages.",
      "不要把 API 密钥和签名密钥写进描述、地址、页面、消息或日志；不要输出环境变量，并关闭调试页面。",
    ],
  },
  one_key: {
    rule: ["each purchase has its own key", "每次购买都有自己的幂等键"],
    remedy: [
      "Store the Idempotency-Key of a purchase before its first request, or derive it from the whole order_id and the attempt, and send it with every request of that purchase.",
      "在首次请求之前保存该次购买的 Idempotency-Key，或由完整的 order_id 和下单次数推导，该次购买的每个请求都使用它。",
    ],
  },
  refuses_forged: {
    rule: ["a forged event is never answered 2xx", "对伪造的事件绝不返回 2xx"],
    remedy: [
      "Verify the signature over the raw body before anything else, and answer 400 if it does not match, whatever the order's state is.",
      "首先对原始请求体验签；不匹配时无论订单状态如何都返回 400。",
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
    rule: ["the shop keeps running, whatever is sent to it", "无论收到什么，商店都继续运行"],
    remedy: [
      "The process of the shop has ended: read its output for the uncaught error, and let it answer 4xx or 5xx instead.",
      "商店的进程已结束：请在其输出中查找未捕获的错误，改为返回 4xx 或 5xx。",
    ],
  },
} as const satisfies Readonly<Record<string, { readonly rule: Words; readonly remedy: Words }>>;
export type JudgedInvariant = keyof typeof JUDGED_INVARIANTS;
