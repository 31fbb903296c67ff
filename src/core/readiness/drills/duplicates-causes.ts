import type { Words } from "../../language.ts";

/** The likely cause of a failed or unclear step. The list is closed. */
export const DUPLICATES_CAUSES = {
  books_again: [
    "The view of the order changed although the event had been delivered before: the shop most likely books each delivery. An event can be delivered twice: store the event_id of each processed event, in the same transaction as the booking, and answer 2xx to a known event without booking again. (If the view counts deliveries or shows the time of the last write, let it show only the order.)",
    "事件已推送过，订单视图却发生了变化：很可能每次推送都会入账。事件可能推送多次：请在入账的同一事务中保存每个已处理事件的 event_id，对已知的事件返回 2xx，不再处理。（如果视图显示推送次数或最后写入时间，请让它只显示订单本身。）",
  ],
  books_at_once: [
    "Two deliveries of one payment arrived at the same moment, and the view shows twice as much as for an order whose payment was delivered once: the shop most likely looks up the event first and stores it later. Let the database decide: insert the event_id into a column with a unique index, in the same transaction as the booking, and do nothing if the insert fails.",
    "同一笔支付的两次推送同时到达，视图显示的数量是只推送一次的订单的两倍：很可能先查事件是否已知，之后才写入。请交给数据库判断：在入账的同一事务中，把 event_id 插入带唯一索引的列，插入失败则不做处理。",
  ],
  knows_by_header: [
    "The payment was booked again when it was delivered with another id in the header Checkout-Event-Id: the shop most likely identifies events by that header, which is not signed, so anybody who has seen a webhook can have it booked again for 5 minutes. Store the event_id of the signed body. (Or the shop books an earlier delivery late.)",
    "以请求头 Checkout-Event-Id 中的另一 id 再次推送该支付时被重复入账：很可能依据该请求头识别事件，而它没有签名，因此任何看到过该 webhook 的人都能在 5 分钟内使其重复入账。请保存已签名的请求体中的 event_id。（也可能是把之前推送的事件延迟入账。）",
  ],
  forgets_last_events: [
    "The payment was booked again after eleven other events, more than half a minute after its first booking: the shop most likely remembers only the last few events, or each event for a short time. Keep the event_id of every event, for at least as long as events are sent again (120 hours).",
    "首次入账半分钟之后，又推送了十一个其他事件，再次推送该支付时被重复入账：很可能只记住最近几个事件，或每个事件只记住很短时间。请保存每个事件的 event_id，至少保留到事件不再重新推送为止（120 小时）。",
  ],
  forgets_in_time: [
    "The payment was booked again when it was delivered after more than 30 s: the shop most likely forgets events after a time, as a cache does. Keep the event_id of every event in the database, for at least as long as events are sent again (120 hours).",
    "超过 30 秒后再次推送该支付时被重复入账：对事件的记忆很可能像缓存一样会过期。请在数据库中保存每个事件的 event_id，至少保留到事件不再重新推送为止（120 小时）。",
  ],
  forgets_at_restart: [
    "The shop lost its records in the restart: the order was no longer paid, or its payment was booked again when it was delivered again. The shop most likely keeps orders or event ids in the memory of its process. Store the event_id of every event in the database, in the same transaction as the booking.",
    "商店重启后丢失了记录：订单不再是已支付，或再次推送支付时被重复入账。很可能把订单或事件 id 保存在进程内存中。请在入账的同一事务中，把每个事件的 event_id 保存到数据库。",
  ],
  books_failed: [
    "The order is paid although its payment failed: the shop most likely takes every event that ends a payment for a success. Book only order.succeeded and checkout_session.succeeded, or a status of succeeded from GET /v1/checkout-sessions/{id}.",
    "支付失败，订单却显示已支付：很可能把所有表示支付结束的事件都当作成功。只能依据 order.succeeded 和 checkout_session.succeeded，或 GET /v1/checkout-sessions/{id} 返回的 succeeded 状态入账。",
  ],
  books_expired: [
    "The order is paid although it expired: the shop most likely books every event that ends an order. Book only order.succeeded and checkout_session.succeeded, or a status of succeeded from GET /v1/checkout-sessions/{id}.",
    "订单已过期，却显示已支付：很可能无论订单如何结束都会入账。只能依据 order.succeeded 和 checkout_session.succeeded，或 GET /v1/checkout-sessions/{id} 返回的 succeeded 状态入账。",
  ],
  books_cancelled: [
    "The order is paid although its payer cancelled: the shop most likely books every event that ends an order. Book only order.succeeded and checkout_session.succeeded, or a status of succeeded from GET /v1/checkout-sessions/{id}.",
    "付款人已取消，订单却显示已支付：很可能无论订单如何结束都会入账。只能依据 order.succeeded 和 checkout_session.succeeded，或 GET /v1/checkout-sessions/{id} 返回的 succeeded 状态入账。",
  ],
  books_pending: [
    "The order is paid although the only attempt was declined and the status is pending: the shop most likely books the start of a payment. Book only order.succeeded and checkout_session.succeeded, or a status of succeeded from GET /v1/checkout-sessions/{id}.",
    "唯一一次支付尝试被拒，状态为 pending，订单却显示已支付：很可能在支付开始时就入账。只能依据 order.succeeded 和 checkout_session.succeeded，或 GET /v1/checkout-sessions/{id} 返回的 succeeded 状态入账。",
  ],
  lost_second_payment: [
    "The shop answered 2xx to the event of this payment, made after a declined attempt, but did not mark the order paid; another order was paid before. It most likely identifies events by something that two events can share (the type, second or amount), or takes a declined attempt for the end. Identify an event only by its event_id.",
    "之前有另一个订单已支付；本订单在一次支付被拒后支付成功，事件也返回了 2xx，订单却不是已支付：很可能用多个事件相同的内容（类型、秒数或金额）来识别事件，或把支付被拒当作订单结束。请只用 event_id 识别事件。",
  ],
  lost_at_once: [
    "The shop answered 2xx to a payment event that arrived at the same moment as the payment event of another order, but did nothing until the event was sent again: it most likely drops events while it is busy, or reads and rewrites all orders, and so overwrites the other event's change. Change one order in one transaction, and answer 5xx to an event that was not processed.",
    "该支付的事件与另一订单的支付事件同时到达，返回了 2xx 却没有处理，直到再次推送才处理：很可能在忙时丢弃收到的事件，或读出全部订单再全部写回，覆盖了另一事件刚写入的内容。请在一个事务中只修改一个订单，没有处理的事件应返回 5xx。",
  ],
  books_other_order: [
    "The shop answered 2xx to the event of a payment, but shows its order as unpaid, and an order that nobody has paid as paid: it most likely finds an order by something that two orders can share (a part of the order_id, LIKE, a number, the amount), or takes the newest or the oldest unpaid order. Find the order by its whole order_id. (Or --order-view shows another order.)",
    "支付事件返回了 2xx，其订单却不是已支付，而另一个无人支付的订单成了已支付：商店很可能用多个订单相同的内容（order_id 的一部分、LIKE、数字或金额）查找订单，或取最新的、最早的未支付订单。请用完整的 order_id 查找订单。（也可能 --order-view 显示的是另一个订单。）",
  ],
  books_kept: [
    "The payment was delivered twice before the creation of its order, and after the creation the view showed twice as much as for another order: the shop most likely stores each delivery for later, and then books all of them. Store an event once, by its event_id.",
    "支付事件在订单的创建事件之前到达两次，创建事件到达后，视图显示的数量是另一个订单的两倍：很可能把每次推送都留到以后处理，之后全部入账。请按 event_id 只保存一次。",
  ],
  forgets_payment: [
    "The order is no longer paid after an older event arrived late: the shop most likely writes the status of the last event. Never go back from a final status: compare the sequence of events, or ask GET /v1/checkout-sessions/{id}.",
    "较早的事件迟到之后，订单不再是已支付：很可能总是按最后收到的事件写入。最终状态不可回退：请比较事件的 sequence，或查询 GET /v1/checkout-sessions/{id}。",
  ],
  undoes_booking: [
    "The order is still paid, but the effect of its payment on the view disappeared after an older event arrived late: the shop most likely rewrites the order at the event of its creation. Insert an order only if there is none, and never go back.",
    "较早的事件迟到之后，订单仍是已支付，但支付给视图增加的内容消失了：很可能收到创建事件时重新写入了订单。只在订单不存在时插入，状态不可回退。",
  ],
  lost_early_payment: [
    "The shop answered 2xx to the payment event, which arrived before the event of the order's creation, and did nothing; after a 2xx the event is not sent again. Process each event regardless of earlier ones, store it for later, or answer 5xx so that it is sent again.",
    "支付事件先于订单的创建事件到达，返回了 2xx 却没有处理；之后不会再推送。无论之前收到过什么，都应处理该事件，或保存起来稍后处理，或返回 5xx 以便重新推送。",
  ],
  refuses_duplicate: [
    "The shop does not answer 2xx to an event that it has already received, so the event would be sent again and again, and would delay the events after it. Answer 2xx to a known event.",
    "对已收到过的事件没有返回 2xx，因此该事件会反复推送，并阻塞后续事件。对已知的事件请返回 2xx。",
  ],
  refuses_late: [
    "The shop does not answer 2xx to a late event, so the event would be sent again and again, and would delay the events after it. Answer 2xx, and leave the order unchanged.",
    "对迟到的事件没有返回 2xx，因此该事件会反复推送，并阻塞后续事件。请返回 2xx，并保持订单不变。",
  ],
  paid_from_the_start: [
    "The view shows the order as paid before anybody has paid: --paid-when also matches an unpaid order (does paid match unpaid?), the view shows another order, or your shop books the creation of an order.",
    "尚未支付，视图就显示已支付：--paid-when 也匹配了未支付的订单（paid 是否匹配了 unpaid？），视图显示的是另一个订单，或您的商店在订单创建时就入账。",
  ],
  order_unknown: [
    "The view answers 404 for an order that the drill created: your shop does not know orders that it has not created. Let your shop create them: --create CMD, or name unpaid orders of your shop: --checkout ID, up to ten times. (Or --order-view does not show the order of {order_id} or {session_id}.)",
    "对演练创建的订单，视图返回 404：您的商店不认识不是自己创建的订单。请让您的商店创建订单：--create CMD，或指定您的商店的未支付订单：--checkout ID，最多十个。（也可能 --order-view 显示的不是 {order_id} 或 {session_id} 对应的订单。）",
  ],
  own_order_unknown: [
    "The view answers 404 for an order that your shop created: --order-view does not show the order of {order_id} or {session_id}.",
    "对您的商店创建的订单，视图返回 404：--order-view 显示的不是 {order_id} 或 {session_id} 对应的订单。",
  ],
  never_paid: [
    "The order was paid, but the view does not show it, so its answers prove nothing. The events were not accepted (see the answers of the steps; checkout checklist run webhooks finds the reason), --paid-when does not match, your shop compares the amount in floating point (19.99 * 100 is 1998.99), it acts only on events of the other kind (then limit the endpoint to that kind: --events order.*), or it does not know orders that it has not created: name its own orders with --checkout, or let it create them with --create.",
    "订单已支付，视图却没有显示，因此视图的回答不能证明什么。可能是事件没有被接受（见各步的响应；运行 checkout checklist run webhooks 可得知原因），--paid-when 不匹配，您的商店用浮点数比较金额（19.99 * 100 等于 1998.99），只处理另一类事件（此时请让接收端只接收该类事件：--events order.*），或不认识不是自己创建的订单：请用 --checkout 指定自己的订单，或用 --create 让商店创建。",
  ],
  books_unverified: [
    "The order is paid after a badly signed event, although the payment never happened: the shop acts on an event before, or without, verifying it. Verify first, and ignore an event that is not valid.",
    "支付从未发生，订单却在收到签名错误的事件后显示已支付：在验签之前处理了事件，或没有验签。请先验签，对不正确的事件不做任何处理。",
  ],
  paid_in_the_end: [
    "The view shows an order as paid that nobody has paid, after another order was paid: it shows another order, or the shop acted late on a badly signed event.",
    "另一个订单支付之后，视图把无人支付的订单显示为已支付：视图显示的是另一个订单，或商店过了一段时间才处理签名错误的事件。",
  ],
  view_of_service: [
    "The view showed the order as paid before any event was delivered: it asks the service, not your shop, so it cannot show how your shop handles events. Show the records of your shop.",
    "任何事件推送之前，视图就显示已支付：视图查询的是本服务而不是您的商店，因此无法显示您的商店如何处理事件。请显示您的商店保存的内容。",
  ],
  view_unreadable: [
    "The view of the order could not be read: it must answer 2xx, or 404 for an unknown order; a command must exit with 0.",
    "无法读取订单视图：视图必须返回 2xx，订单不存在时返回 404；如果是命令，退出码必须为 0。",
  ],
  view_limited: [
    "The view answered 429 again and again: your rate limit keeps the drill from reading it. Raise the limit for this machine.",
    "视图一再返回 429：您的频率限制使演练无法读取。请为本机提高限制。",
  ],
  view_restless: [
    "The view changes by itself, so a second booking cannot be detected. Let it show only the order, with its bookings.",
    "视图会自行变化，因此无法判断是否重复入账。请让视图只显示订单本身及其入账次数。",
  ],
  out_of_reach: [
    "The endpoint could not be reached, so the drill cannot tell how your shop handles the event.",
    "无法连接接收端，因此不知道您的商店如何处理。",
  ],
  no_endpoint: [
    "No enabled endpoint subscribes to the event of the payment: see the event types in checkout endpoints list, and add the types of orders and sessions.",
    "没有启用的接收端接收该支付事件：请查看 checkout endpoints list 中的事件类型，并添加订单和会话的事件类型。",
  ],
} as const satisfies Readonly<Record<string, Words>>;

/** A cause of the closed list. */
export type DuplicatesCause = keyof typeof DUPLICATES_CAUSES;

/** The causes that are the merchant's failures; with any other cause the drill has no verdict. */
export const DUPLICATES_FAILURES: ReadonlySet<DuplicatesCause> = new Set([
  "books_again",
  "books_at_once",
  "knows_by_header",
  "forgets_last_events",
  "forgets_in_time",
  "forgets_at_restart",
  "books_failed",
  "books_expired",
  "books_cancelled",
  "books_pending",
  "lost_second_payment",
  "lost_at_once",
  "books_other_order",
  "books_kept",
  "forgets_payment",
  "undoes_booking",
  "lost_early_payment",
  "refuses_duplicate",
  "refuses_late",
  "books_unverified",
]);
