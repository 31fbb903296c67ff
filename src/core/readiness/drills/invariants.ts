import type { Words } from "../../language.ts";

/** The rules that hold for every purchase, regardless of faults, each with its remedy. The list is closed. */
export const INVARIANTS = {
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
      "Limit the number of retries and the time of each, and report success only for a 201 whose answer is complete.",
      "限制重试次数和每次的时间；只有完整读到 201 响应才报告成功。",
    ],
  },
  recovery: {
    rule: [
      "after a failure, repeating the purchase ends with its one order and its payment page",
      "失败之后再次发起同一购买，会得到同一个订单及其支付页面",
    ],
    remedy: [
      "Store the Idempotency-Key and the body before the first request, and send both unchanged until there is an answer.",
      "在首次请求之前保存 Idempotency-Key 和请求正文，原样重发直到得到响应。",
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
      "Verify the signature over the raw body before you use any part of the body.",
      "先对原始正文验签，再使用其中的内容。",
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
    rule: ["a paid order stays paid", "已支付的订单保持已支付"],
    remedy: [
      "Never go back from a final status: compare the sequence of events, or ask GET /v1/checkout-sessions/{id}.",
      "最终状态不可回退：请比较事件的 sequence，或查询 GET /v1/checkout-sessions/{id}。",
    ],
  },
  secrets_kept: {
    rule: [
      "no secret appears in a v1 request (except its Authorization header), in an answer to a webhook, in the output of the purchase or in the view of the order; no other places are checked",
      "密钥不会出现在 v1 的请求（Authorization 头除外）、对推送的响应、购买的输出或订单视图中；其他地方不作检查",
    ],
    remedy: [
      "Keep the API key and the signing secret out of descriptions, addresses, pages, messages and logs; do not print the environment, and turn off debug pages.",
      "不要把 API 密钥和签名密钥写进描述、地址、页面、消息或日志；不要输出环境变量，并关闭调试页面。",
    ],
  },
} as const satisfies Readonly<Record<string, { readonly rule: Words; readonly remedy: Words }>>;

/** The name of a rule. */
export type Invariant = keyof typeof INVARIANTS;

/** Likely causes of a broken invariant. The list is closed. */
export const EXPLORE_CAUSES = {
  new_order_id: [
    "The purchase created more than one order: a retry uses a new order_id.",
    "产生了多个订单：重试时使用了新的 order_id。",
  ],
  order_again: [
    "The purchase created another order after the first one had ended.",
    "第一个订单结束之后又创建了一个订单。",
  ],
  never_ends: ["The purchase did not end.", "购买没有结束。"],
  claims_success: [
    "The purchase reports success without the order and its payment page: it does not check that the answer is a complete 201.",
    "购买报告成功，却没有得到订单及其支付页面：没有检查是否收到完整的 201 响应。",
  ],
  new_key: [
    "The order exists, but every retry gets 409 order_conflict: after a lost answer the purchase uses a new Idempotency-Key.",
    "订单已存在，购买却一直收到 409 order_conflict：响应丢失后使用了新的 Idempotency-Key。",
  ],
  other_body: [
    "Every retry gets 409 idempotency_key_reused: the purchase sends another body with the same Idempotency-Key.",
    "购买一直收到 409 idempotency_key_reused：用同一个 Idempotency-Key 发送了不同的正文。",
  ],
  no_recovery: [
    "The purchase failed, and failed again after the fault was gone.",
    "购买失败，故障消失之后再次发起仍然失败。",
  ],
  books_again: [
    "The order was booked more than once: the application books each delivery of an event.",
    "重复入账：事件的每次推送都会入账。",
  ],
  books_other_events: [
    "The order was booked more than once although its payment event was delivered once: the application also books another event.",
    "支付事件只推送了一次，却重复入账：还对其他事件入账。",
  ],
  books_at_start: [
    "The order was booked again when the application restarted after it had been killed.",
    "被强制结束后重新启动时再次入账。",
  ],
  books_unpaid: [
    "The order was booked before anybody had paid: the application books the creation of an order or the start of a payment.",
    "尚未支付就已入账：在订单创建或支付开始时入账。",
  ],
  books_failed: ["The order was booked although the payment failed.", "支付失败，却已入账。"],
  books_cancelled: ["The order was booked although the payer cancelled.", "付款人已取消，却已入账。"],
  books_expired: ["The order was booked although it expired unpaid.", "订单未支付就已过期，却已入账。"],
  believes_forged: [
    "The application booked the amount of a webhook that was changed in transit: it uses the body without verifying it.",
    "按被篡改的推送金额入账：没有验签就使用了正文。",
  ],
  other_amount: [
    "The application booked an amount that differs from the order's amount.",
    "入账金额与订单金额不同。",
  ],
  accepts_forged: [
    "The application answered 2xx to a forged webhook and booked nothing, so the genuine one was never sent again: answer 4xx to a forged webhook.",
    "对伪造的推送返回了 2xx 却没有入账，真正的推送因此不再到来：应返回 4xx。",
  ],
  lost_early: [
    "The application answered 2xx to the payment event and did nothing, because an earlier event had not arrived yet.",
    "对支付事件返回了 2xx 却没有处理，因为较早的事件尚未到达。",
  ],
  refuses_payment: [
    "The application never answered 2xx to the payment event.",
    "对支付事件始终没有返回 2xx。",
  ],
  not_told: [
    "No endpoint subscribes to the payment event, and the application did not ask for the status.",
    "没有接收端接收支付事件，也没有查询状态。",
  ],
  acknowledged_only: [
    "The application answered 2xx to the payment event, but did not book the payment.",
    "对支付事件返回了 2xx，却没有入账。",
  ],
  not_restarted: [
    "The application did not start again after it was killed: look for a lock or a pid file that it left behind.",
    "被强制结束后无法重新启动：请检查是否遗留了锁或进程文件。",
  ],
  goes_back: [
    "The order was paid, but no longer is: an older event, delivered late or again, overwrote its status.",
    "曾是已支付，后来又不是：迟到或重复推送的旧事件覆盖了它。",
  ],
  secret_in_request: [
    "A secret was in the body, the path or the Idempotency-Key of a request.",
    "请求的正文、路径或 Idempotency-Key 中含有密钥。",
  ],
  secret_in_answer: [
    "A secret was in an answer to a webhook: the address that receives webhooks is public.",
    "对推送的响应中含有密钥：接收推送的地址是公开的。",
  ],
  secret_in_output: [
    "A secret was in the output or the error message of the purchase, which logs keep.",
    "购买的输出或错误消息中含有密钥，日志会保存这些内容。",
  ],
  secret_in_view: ["A secret was in the view of the order.", "订单视图中含有密钥。"],
} as const satisfies Readonly<Record<string, Words>>;

/** The code of a cause. */
export type ExploreCause = keyof typeof EXPLORE_CAUSES;

/** The advice about a payment whose event was lost for good, so that webhooks cannot report it. */
export const DROPPED_EVENT_ADVICE: Words = [
  "The payment event was lost for good, so the order was never booked. Poll orders that stay unpaid (GET /v1/checkout-sessions/{id}), or replay the events (checkout events replay).",
  "支付事件彻底丢失，订单因此一直没有入账。请主动查询长时间未支付的订单（GET /v1/checkout-sessions/{id}），或重新推送事件（checkout events replay）。",
];

/** Why an invariant was not judged. */
export const NOT_JUDGED_REASONS = {
  status_alone: (amountField: string): Words => [
    `the view returns only a status; it could also return times and ${amountField}`,
    `视图只给出状态；还可以返回 times 和 ${amountField}`,
  ],
  nothing_failed: ["no purchase failed, so no recovery was needed", "没有购买失败，因此无需恢复"],
  no_view: [
    "only the orders were checked, not the application's bookings",
    "只查看了订单，没有查看应用的入账",
  ],
  not_shown: ["no run tested it", "没有任何一次运行能体现"],
  not_again: [
    "it was broken once, but not in each of the three runs after that",
    "曾被违反一次，之后的三次运行没有全部重现",
  ],
} as const satisfies Readonly<Record<string, Words | ((amountField: string) => Words)>>;

/** The code of a reason. */
export type NotJudgedReason = keyof typeof NOT_JUDGED_REASONS;
