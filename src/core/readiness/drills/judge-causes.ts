import type { Words } from "../../language.ts";
import type { DrillSentence } from "../drill-sentences.ts";
import { JUDGED_INVARIANTS, type JudgedInvariant } from "./judged-invariants.ts";

export const CAUSES = {
  no_key: [
    "A create has no Idempotency-Key, and the service refuses it.",
    "创建请求没有 Idempotency-Key，因此被本服务拒绝。",
  ],
  invalid_key: [
    "A create has an invalid key: a key has 8 to 128 printable ASCII characters, in one header line.",
    "创建请求的幂等键无效：应为一行请求头中的 8 到 128 个可打印 ASCII 字符。",
  ],
  new_key: [
    "A retry gets 409 order_conflict, because it has a new key: create one key for each purchase, store it before the first attempt or derive it only from the purchase, and send it with every attempt. Here order_conflict stops a second order, which the interface does not promise (decision 8).",
    "重试因使用新的幂等键收到 409 order_conflict：请为每次购买生成一个幂等键，在首次尝试之前保存或只由购买内容推导，每次尝试都使用它。此处 order_conflict 阻止了第二个订单，但接口并不保证这一点（见约定 8）。",
  ],
  second_create: [
    "After the answer said that its order exists, another create with a new key gets 409 order_conflict, perhaps from a retry queue, a double click or a customer who comes back: show the open payment page, and check whether the order exists before another create.",
    "响应已表明订单存在，之后又用新的幂等键创建，收到 409 order_conflict：起因可能是重试队列、重复点击或返回的顾客。请显示未结束的支付页面，并在再次创建之前查询订单是否已存在。",
  ],
  other_body: [
    "A retry gets 409 idempotency_key_reused: with the same key it sends another body, or to another path. Something in the body changes with each attempt, such as a time or a description.",
    "重试收到 409 idempotency_key_reused：用同一幂等键发送了不同的请求体，或换了路径。请求体中有内容每次尝试都会变化，例如时间或描述。",
  ],
  changed_body: [
    "A retry is refused as invalid although the service accepted the create before: its body differs. Store the body with the key, and send both unchanged.",
    "服务已接受过该创建请求，重试却因无效被拒绝：请求体不同了。请把请求体与幂等键一起保存，并原样发送。",
  ],
  alike: [
    "The first create of an order gets 409 idempotency_key_reused: different order_ids have the same key, so that the second customer gets the first customer's order, or a 409. Derive the key from the whole, unchanged order_id, or generate a random key for each purchase and store it.",
    "订单的首次创建就收到 409 idempotency_key_reused：不同的订单号生成了同一个幂等键，第二位顾客会得到第一位的订单，或收到 409。请用完整且未改动的订单号生成幂等键，或为每次购买随机生成并保存。",
  ],
  reports_failure: [
    "The command reports a failure although it received its order, so the shop tells the customer that the purchase failed, or starts again.",
    "命令已得到订单却报告失败，因此商店会告诉顾客购买失败，或重新开始购买。",
  ],
  forgotten: [
    "The purchase is repeated without a create, although no earlier attempt was answered: the order may exist, but the shop does not know it. Store the purchase and its key before the first attempt, and resume from there.",
    "此前的尝试都没有得到响应，再次购买时却没有发送创建请求：订单可能已存在，而商店并不知道。请在首次尝试之前保存购买及其幂等键，再次购买时由此继续。",
  ],
  ...withRemedy("one_order", {
    new_order_id: [
      "The purchase created an order with another order_id: a retry uses a new order_id.",
      "此次购买又以另一个订单号创建了订单：重试时换用了新的订单号。",
    ],
    order_again: [
      "The purchase created another order after the first one had ended.",
      "第一个订单结束之后，此次购买又创建了一个订单。",
    ],
  }),
  ...withRemedy("client_ends", {
    never_ends: ["The purchase does not end.", "购买过程一直没有结束。"],
    claims_success: [
      "The shop reports success without having received the order and its payment page: it does not check that the answer is a complete 201.",
      "商店提示下单成功，却没有得到订单及其支付页面：没有检查响应是否为完整的 201。",
    ],
  }),
  early_forgotten: [
    "An event arrived before the answer to the create, and the payment that followed was not booked: the shop did not know the order yet, and keeps treating it as unknown. Store the order before the create is sent, or answer 503 until it is stored.",
    "事件先于创建请求的响应到达，之后的支付没有入账：商店当时还不认识该订单，之后一直把它当作未知订单。请在发送创建请求之前保存订单，或在保存之前返回 503。",
  ],
  shares_order: [
    "Two purchases got one payment page: generate the order number in the statement that stores it, under a unique index, and keep a checkout only with its order, not in a variable of all requests or in the browser's session.",
    "两次购买得到了同一个支付页面：请在保存订单的同一条语句中生成订单号，加唯一索引；收款单只与其订单一起保存，不要放在所有请求共用的变量或浏览器会话中。",
  ],
  fails_undisturbed: [
    "The purchase failed although nothing disturbed it: read the output of the purchase, and the answers of the service in `checkout requests list`.",
    "在没有干扰的情况下购买失败：请查看其输出，并用 `checkout requests list` 查看服务的响应。",
  ],
  ...withRemedy("recovery", {
    no_recovery: [
      "The purchase failed, and failed again after the fault was gone.",
      "购买失败，故障消失之后再次发起仍然失败。",
    ],
  }),
  ...withRemedy("booked_once", {
    books_other_events: [
      "The order was booked more than once although its payment event was delivered once: the shop also books another event.",
      "支付事件只推送了一次，订单却重复入账：商店还对其他事件入账。",
    ],
    books_at_start: [
      "The order was booked again when the shop restarted after it had been killed.",
      "商店被强制结束后重新启动时，订单再次入账。",
    ],
  }),
  ...withRemedy("never_unpaid", {
    books_unpaid: [
      "The order was booked before anybody had paid: the shop books the creation of an order or the start of a payment.",
      "订单尚未支付就已入账：商店在订单创建或支付开始时就入账。",
    ],
    books_pending: [
      "The order was booked although its only attempt was declined and its status is pending.",
      "订单唯一一次支付尝试被拒，状态为 pending，却已入账。",
    ],
    books_failed: ["The order was booked although the payment failed.", "支付失败，订单却已入账。"],
    books_cancelled: ["The order was booked although the payer cancelled.", "付款人已取消，订单却已入账。"],
    books_expired: ["The order was booked although it expired unpaid.", "订单未支付就已过期，却已入账。"],
  }),
  ...withRemedy("right_amount", {
    believes_forged: [
      "The shop booked the amount of a webhook that was changed in transit: it uses the body without verifying it.",
      "商店按传输途中被篡改的 Webhook 中的金额入账：没有验签就使用了请求体。",
    ],
    other_amount: [
      "The shop booked an amount that differs from the order's amount.",
      "入账金额与订单金额不同。",
    ],
  }),
  ...withRemedy("booked_when_paid", {
    accepts_forged: [
      "The shop answered 2xx to a forged webhook and booked nothing, so the genuine one was never sent again: answer 4xx to a forged webhook.",
      "商店对伪造的 Webhook 返回了 2xx 却没有入账，真实的事件因此不再推送：对伪造的 Webhook 应返回 4xx。",
    ],
    not_told: [
      "No endpoint subscribes to the payment event, and the shop did not ask for the status.",
      "没有接收端订阅支付事件，商店也没有查询状态。",
    ],
    acknowledged_only: [
      "The shop answered 2xx to the payment event, but did not book the payment.",
      "商店对支付事件返回了 2xx，却没有入账。",
    ],
  }),
  ...withRemedy("refuses_forged", {
    answers_forged: ["The shop answered 2xx to a forged event.", "商店对伪造的事件返回了 2xx。"],
  }),
  ...withRemedy("takes_events", {
    refuses_event: [
      "The shop never answered 2xx to a genuine event.",
      "商店始终没有对某个真实的事件返回 2xx。",
    ],
    refuses_payment: [
      "The shop never answered 2xx to the payment event.",
      "商店始终没有对支付事件返回 2xx。",
    ],
  }),
  ...withRemedy("stays_up", {
    not_restarted: [
      "The shop did not start again after it was killed: look for a lock or a pid file that it left behind.",
      "商店被强制结束后没有重新启动：请检查是否遗留了锁或 pid 文件。",
    ],
  }),
  ...withRemedy("secrets_kept", {
    secret_in_request: [
      "A secret was in the body, the path or the Idempotency-Key of a request.",
      "请求体、请求路径或 Idempotency-Key 中含有密钥。",
    ],
    secret_in_answer: [
      "A secret was in an answer to a webhook: the address that receives webhooks is public.",
      "对 Webhook 的响应中含有密钥：接收 Webhook 的地址是公开的。",
    ],
    secret_in_output: [
      "A secret was in the output or the error message of the purchase, which logs keep.",
      "购买的输出或错误消息中含有密钥，日志会保存这些内容。",
    ],
    secret_in_view: ["A secret was in the view of the order.", "订单视图中含有密钥。"],
  }),
  other_names: (namesText) => [
    `The shop refused or did not book the events of a purchase that nothing disturbed. This store has a dialect: ${namesText}. Let the shop read the names of the dialect, or use a store without one.`,
    `在没有干扰的情况下，您的商店拒绝了购买的事件，或没有入账。沙箱中的这个商店使用方言：${namesText}。请让您的商店读取方言的名称，或改用沙箱中没有方言的商店。`,
  ],
  refuses_plain: [
    "The shop refused a genuine event of an ordinary purchase. 400 or 401: usually it verifies with another secret, or over a parsed body, which `checkout checklist run webhooks` shows. 404: its webhook path differs. No answer: it is not running, or listens on another port.",
    "商店拒绝了普通购买的真实事件。400 或 401：通常是用别的密钥验签，或对解析后的请求体验签，`checkout checklist run webhooks` 会指出。404：Webhook 路径不同。没有响应：商店没有运行，或监听另一端口。",
  ],
  loses_plain: [
    "An ordinary payment is lost: the shop answered 2xx to its event and does not show the order as paid. If the view shows a paid order, correct --paid-when; otherwise compare the answers in the timeline of the order with the log of the shop.",
    "普通支付丢失：商店对支付事件返回了 2xx，订单却没有显示已支付。如果视图显示的是已支付的订单，请更正 --paid-when；否则请对照订单时间线中的响应和商店的日志。",
  ],
  books_unverified: [
    "The order is booked after an event with a wrong signature: the shop acts on an event before, or without, verifying it. Verify first, and ignore an event that is not valid.",
    "收到签名错误的事件后，订单就入账：商店在验签之前处理了事件，或没有验签。请先验签，对无效的事件不做任何处理。",
  ],
  books_unknown_type: [
    "An event of an unknown type books the order, or changes a paid order: the shop treats every unknown type as a payment or as the end of the order. Ignore unknown types, and answer 2xx.",
    "收到未知类型的事件后，订单入账，或已支付的订单被改变：商店把未知类型都当作支付或订单结束。请忽略未知类型，并返回 2xx。",
  ],
  lost_early: [
    "The payment event arrived before an earlier event of its order; the shop answered 2xx and did nothing, and after a 2xx the event is not sent again. Process each event regardless of earlier ones, store it for later, or answer 5xx.",
    "支付事件先于该订单较早的事件到达，商店返回了 2xx 却没有处理；返回 2xx 之后，该事件不会再推送。无论之前收到过什么，都应处理该事件，或保存起来稍后处理，或返回 5xx。",
  ],
  books_again: [
    "The order is booked again when its payment is delivered again: store the event_id of each event, in the same transaction as the booking, and answer 2xx to a known event without booking. The id of the signed body counts, not the header Checkout-Event-Id, which is not signed.",
    "再次推送支付事件时，订单重复入账：请在入账的同一事务中保存每个事件的 event_id，对已知的事件返回 2xx，不再入账。以已签名的请求体中的 ID 为准，而不是没有签名的请求头 Checkout-Event-Id。",
  ],
  overwrites_later: [
    "The payment event arrived while the shop handled an earlier event of the checkout: the shop skipped the payment because the order was locked, or the older status then overwrote the paid one. Answer 503 to an event that you cannot process now; read and write a status in one transaction, and only for a higher sequence of the same data.id.",
    "商店处理同一收款单较早的事件期间收到支付事件：订单被锁，商店跳过了支付事件；或随后较早的状态覆盖了已支付状态。暂时无法处理的事件请返回 503；请在一个事务中读取并写入状态，且仅在同一 data.id 的 sequence 更大时写入。",
  ],
  remembers_forged: [
    "A copy of the payment with a wrong signature came first, and the genuine one was then skipped as known: remember an event only after its signature is verified.",
    "先收到签名错误的支付事件副本，真实的支付事件随后被当作已知而跳过：验证签名之后才可记录事件。",
  ],
  goes_back: [
    "The order is no longer paid after an older event arrived late: never go back from a final status. Compare the sequence of events with the same data.id, or ask GET /v1/checkout-sessions/{id}.",
    "较早的事件迟到之后，订单不再是已支付状态：最终状态不可回退。请比较同一 data.id 的事件的 sequence，或查询 GET /v1/checkout-sessions/{id}。",
  ],
  books_at_once: [
    "Deliveries of one payment at the same moment are booked more than once: the shop most likely looks up the event first and stores it later. Insert the event_id into a column with a unique index, in the same transaction as the booking.",
    "同一笔支付的多次推送同时到达时，订单重复入账：商店很可能先查事件是否已知，之后才写入。请在入账的同一事务中，把 event_id 插入带唯一索引的列。",
  ],
  lost_at_once: [
    "Payments of several orders arrived at the same moment, and one was answered with 2xx and not booked: the shop most likely drops events while it is busy, or reads all orders and writes them back. Change one order in one transaction, identify events by event_id alone, and answer 5xx to an event that was not processed.",
    "多个订单的支付同时到达，商店对其中一个返回了 2xx 却没有入账：很可能在繁忙时丢弃事件，或读出全部订单再全部写回。请在一个事务中只修改一个订单，只用 event_id 识别事件，没有处理的事件应返回 5xx。",
  ],
  confuses_events: [
    "The payment of an order was refused, or answered with 2xx and not booked, after an event of another order whose event_id has the same beginning or end: the shop most likely keeps only a part of the event_id, or converts it to a number, which is rounded. Keep the whole event_id as text.",
    "先收到另一订单的事件，其 event_id 的开头或结尾相同；之后商店拒绝了本订单的支付，或返回了 2xx 却没有入账：很可能只保存了 event_id 的一部分，或把它转换为数字，因而被舍入。请把完整的 event_id 作为文本保存。",
  ],
  reads_part: [
    "The payment event arrived in two parts, as networks and proxies can split it, and was refused or not booked: read the body to its end (Content-Length) before you verify it.",
    "支付事件分两段到达（网络和代理会这样切分），被拒绝或没有入账：验签之前请读完整个请求体（Content-Length）。",
  ],
  mixes_up: [
    "An event of one order changes another order whose order_id resembles it: the shop finds orders by a part of the id, without regard to case, or takes the newest one. Find the order by its whole, unchanged order_id.",
    "某个订单的事件改变了订单号与其相似的另一订单：商店很可能只比较订单号的一部分、不区分大小写，或取最新的订单。请用完整且未改动的订单号查找订单。",
  ],
  other_terms: [
    "A payment of another amount or currency is booked for this order: compare amount_minor (a higher amount is also wrong) and currency of the event or answer with the order before booking it.",
    "金额或币种不同的支付被当作本订单的支付入账：入账前请核对事件或响应中的 amount_minor（偏高也不对）和 currency 是否与订单一致。",
  ],
  place_taken: [
    "A payment of another checkout with this order_id came first, and the order's own payment, answered with 2xx, is not booked: the shop most likely remembers events by type and order_id, or closes the order. Identify an event by its event_id, and keep a state for each data.id.",
    "先收到同一订单号的另一收款单的支付，之后商店对本订单自己的支付返回了 2xx 却没有入账：很可能按类型和订单号记住事件，或关闭了订单。请用 event_id 识别事件，并为每个 data.id 分别保存状态。",
  ],
  lost_late: [
    "The shop answered 2xx to a payment event whose created_at is a day old, and did not book it: the service repeats an event for a day after an outage. Compare Checkout-Timestamp, which is new with each attempt, with your clock, not created_at.",
    "支付事件的 created_at 是一天之前，商店返回了 2xx 却没有入账：中断之后，服务会在一天内重复推送事件。请把每次尝试都会更新的 Checkout-Timestamp（而不是 created_at）与时钟比较。",
  ],
  books_others: [
    "The order is booked by an event of another, unpaid checkout with the same order_id: book only order.succeeded and checkout_session.succeeded, and answer 2xx to every other type without booking.",
    "同一订单号的另一收款单未支付，它的事件却使本订单入账：只能依据 order.succeeded 和 checkout_session.succeeded 入账，对其他类型的事件返回 2xx，不入账。",
  ],
  refuses_others: [
    "An event of an order that your shop does not know is always refused: another system may use the same store. Answer 2xx to each event that verifies, and ignore orders that are not yours.",
    "您的商店总是拒绝不属于自己的订单的事件：沙箱中的同一商店可能还有其他系统在用。对验签通过的事件一律返回 2xx，不属于自己的订单不作处理。",
  ],
  books_by_job: [
    "The webhook handler and the code that asks the API both book the same payment: each checks whether the order is paid, and books it afterwards. Let both call one function that books only an unpaid order, in one transaction or by one conditional UPDATE.",
    "查询 API 的程序和 Webhook 处理程序为同一笔支付重复入账：两者都先查看是否已支付，之后才入账。请让两者调用同一个函数，在一个事务中或用一条带条件的 UPDATE 只为未支付的订单入账。",
  ],
  lost_without_api: [
    "While the shop handled the payment event, the API did not answer, or answered without the order; the shop answered 2xx and never booked the payment. Answer 5xx if an event could not be processed, so that it is sent again.",
    "商店处理支付事件时 API 没有响应，或响应中没有订单，商店返回了 2xx，此后一直没有入账。无法处理事件时请返回 5xx，以便重新推送。",
  ],
  forgets: [
    "The payment is booked again when its event arrives much later, after many other events: the shop most likely remembers events only for a short time, or only the last few. Keep the event_id of every event for at least 120 hours.",
    "隔了很久、收到许多其他事件之后，再次收到支付事件时订单重复入账：商店很可能只在短时间内记住事件，或只记住最近几个。请保存每个事件的 event_id 至少 120 小时。",
  ],
  lost_at_restart: [
    "The payment was lost or booked again because the shop was restarted before or while its event was handled: keep known events and bookings in the database, and store the event and the booking in one transaction before you answer 2xx.",
    "商店在处理支付事件之前或期间重启，支付因此丢失或重复入账：请把已知的事件和入账保存在数据库中，并在返回 2xx 之前，在一个事务中保存事件和入账。",
  ],
  refuses_since_restart: [
    "Since it was restarted, the shop refuses even an event that it accepted before, although its view answers: look for a lock, a flag or an unfinished job that a killed process left behind. Use a lock that ends with its process, such as a database lock.",
    "重启之后，商店连以前接收过的事件也拒绝，而订单视图有响应：请检查被强制结束的进程是否遗留了锁、标记或未完成的任务。请使用随进程结束而释放的锁，例如数据库的锁。",
  ],
  gives_up_at_start: [
    "The order was open when the shop was restarted, and the payment that followed was not booked: a stop or a start must not end open orders, nor forget them. Keep orders in the database, and let the service's events decide how they end.",
    "商店重启时订单尚未支付，之后的支付没有入账：停止或启动时不得结束或丢失未完成的订单。请把订单保存在数据库中，订单如何结束以服务的事件为准。",
  ],
  gives_up_late: [
    "The customer paid some time after the order was created, and the payment was not booked: the shop had stopped asking about the order, or had cancelled it by a time limit of its own. An order is open until its checkout ends: wait for its final event, and book a payment that comes late.",
    "顾客在下单一段时间之后才支付，支付没有入账：商店已停止查询该订单，或按自己的时限取消了它。收款单结束之前订单都是未完成的：请等待最终事件，迟到的支付也要入账。",
  ],
  gives_up_refused: [
    "The API refused requests about an open order with 401 and 429, and the payment that followed was not booked: such an answer says nothing about the order. Leave it open, and ask again later.",
    "API 用 401 和 429 拒绝了对未完成订单的查询，之后的支付没有入账：这样的响应不说明订单的状态。请不要结束该订单，稍后再查询。",
  ],
  lost_after_outage: [
    "The API answered 503 to some requests and then recovered, and a payment that followed was answered with 2xx and not booked: the shop stopped asking, and treated a missing answer as unpaid. If you cannot ask the API about an event, answer 503, so that the event is sent again.",
    "API 对若干次查询返回 503，之后恢复；商店对随后的支付返回了 2xx 却没有入账：它停止了查询，并把没有响应当作未支付。无法向 API 查询时，请对事件返回 503，以便重新推送。",
  ],
  lost_by_return: [
    "The payment event arrived while the return page was being built, or the customer returned while the event was handled; the event was answered with 2xx, and the payment is not booked: the shop skips an event that finds the order locked, or overwrites the order with the state that it had read before. Answer 503 to an event that you cannot process now, and change an order in one transaction.",
    "生成返回页面期间收到支付事件，或处理支付事件期间顾客返回；商店返回了 2xx，支付却没有入账：订单被锁时它跳过了事件，或用之前读到的状态覆盖了订单。暂时无法处理的事件请返回 503，并在一个事务中修改订单。",
  ],
  second_attempt: [
    "The customer bought the order again after its first checkout had ended, and paid the second one: this payment must be booked once, and stay booked when events of the first one arrive late. Keep a state for each data.id: sequence counts the events of one checkout.",
    "首个收款单结束后顾客再次下单并支付：这笔支付应入账一次，不应因首个收款单的事件迟到而改变。请为每个 data.id 分别保存状态：sequence 只在一个收款单内计数。",
  ],
  old_page: [
    "An order that is bought again gets a new checkout after one outcome; after another outcome, or a later attempt, the shop shows the page of the ended checkout, or repeats its Idempotency-Key, so that nobody can pay: begin a new attempt with a new Idempotency-Key after each of failed, expired and cancelled, or refuse the purchase.",
    "某种结果之后再次下单会得到新的收款单；但在另一种结果之后，或再下一次下单时，商店却显示已结束的收款单的页面，或沿用其幂等键，顾客因此无法支付：失败、过期、取消之后再次下单，都请使用新的 Idempotency-Key，或者拒绝购买。",
  ],
  attempt_other_body: [
    "The customer bought the order again after its checkout had ended, and the create got 409 idempotency_key_reused: the shop sent another body with the first key. A new attempt needs a new Idempotency-Key.",
    "收款单结束后顾客再次下单，创建请求收到 409 idempotency_key_reused：商店沿用首次的幂等键，却发送了不同的请求体。再次下单需要新的 Idempotency-Key。",
  ],
  gives_up_again: [
    "The customer bought the order again while its checkout was open, pending or just paid; the shop abandoned that checkout, and its payment is not booked. Show the open payment page again, and book the payment of each checkout of the order.",
    "收款单待支付、处理中或刚支付时，顾客再次下单，商店放弃了该收款单，其支付没有入账。请再次显示该支付页面；订单的每个收款单收到的支付都要入账。",
  ],
  create_resets: [
    "The customer went back and bought a paid order again, and the order is no longer paid: a create must not overwrite a paid order.",
    "顾客返回并再次购买已支付的订单，订单不再是已支付状态：创建请求不得覆盖已支付的订单。",
  ],
  pays_twice: [
    "The customer went back and bought a paid order again, and got another checkout, which can be paid too: check whether the order is paid before you create a checkout.",
    "顾客返回并再次购买已支付的订单，得到了另一个可以支付的收款单：创建之前请先查看订单是否已支付。",
  ],
  two_methods: [
    "The customer went back, chose another payment method, and got a second checkout while the first one can still be paid, so the order can be paid twice: show the open checkout until it has ended.",
    "顾客返回后选择了另一种支付方式，得到了第二个收款单，而第一个仍可支付，订单因此可能被支付两次：在第一个结束之前，请继续显示它。",
  ],
  other_method_key: [
    "The customer chose another payment method while the checkout was open, and the create got 409 idempotency_key_reused: the shop sent another body with the same key. Show the open checkout until it has ended.",
    "收款单尚未结束时，顾客选择了另一种支付方式，创建请求收到 409 idempotency_key_reused：商店沿用同一幂等键，却发送了不同的请求体。在收款单结束之前，请继续显示它。",
  ],
  double_click: [
    "The purchase was started several times at once, and made more than one checkout or failed: generate and store the Idempotency-Key of a purchase in one statement, and repeat a create that is answered with idempotency_in_progress.",
    "同时多次发起同一购买，产生了多个收款单或失败：请用一条语句生成并保存该次购买的 Idempotency-Key，并在收到 idempotency_in_progress 后重试。",
  ],
  conflict_new_order: [
    "A create was answered with 409, and the shop then used another order_id: report the conflict, or repeat the same request.",
    "创建请求返回 409 后，商店换用了另一个订单号：请提示冲突，或原样重发该请求。",
  ],
  never_gives_up: [
    "Every create was refused with 403, and the command did not end with a failure: 400, 401, 403 and 409 do not go away by themselves. Stop, and report them.",
    "每次创建都以 403 被拒绝，命令却没有以失败结束：400、401、403 和 409 不会因重试而消失。请停止并报告。",
  ],
  believes_return: [
    "The order is booked because the customer returned. A return proves nothing, and anybody can open that address: wait for the verified webhook, or ask GET /v1/checkout-sessions/{id}, and treat only succeeded as paid.",
    "顾客一返回，订单就入账了。返回不能证明已支付，任何人都能打开该地址：请等待验签通过的 Webhook，或查询 GET /v1/checkout-sessions/{id}，只有 succeeded 才是已支付。",
  ],
  gives_up: [
    "The customer returned before the payment was final, and the shop abandoned the order: the payment that followed was not booked. A return must not end an order; leave it open until its webhook arrives.",
    "支付完成之前顾客返回，商店就放弃了该订单：之后的支付没有入账。不要因为顾客返回就结束订单；收到 Webhook 之前，请保持订单为未完成状态。",
  ],
  mixes_orders: [
    "The customer returned with the session of another order, and its payment is booked for the wrong order, or lost: ask about the session that you have stored with the order, and compare the whole order_id of the answer.",
    "顾客返回时使用了另一个订单的会话，支付因此记到错误的订单上，或没有入账：请查询与订单一起保存的会话，并比较响应中完整的订单号。",
  ],
  books_by_both: [
    "The return page and the webhook handler book the same payment: each checks whether the order is paid, and books it afterwards. Let both call one function that books only an unpaid order, in one transaction or by one conditional UPDATE.",
    "返回页面和 Webhook 处理程序为同一笔支付重复入账：两者都先查看是否已支付，之后才入账。请让两者调用同一个函数，在一个事务中或用一条带条件的 UPDATE 只为未支付的订单入账。",
  ],
  believes_without_api: [
    "The API did not answer when the customer returned, and the order is booked: without an answer nothing is proven. Leave the order open until its webhook arrives.",
    "顾客返回时 API 没有响应，订单却已入账：没有响应就无法证明已支付。收到 Webhook 之前，请不要结束该订单。",
  ],
  paid_without_asking: [
    "The order is booked after the customer's return, before any webhook, and the shop has not asked the API: wait for the verified webhook, or ask GET /v1/checkout-sessions/{id}. (A view that asks the service shows the service's records, not your shop's.)",
    "顾客返回后、任何 Webhook 推送之前，订单就已入账，而商店没有查询 API：请等待验签通过的 Webhook，或查询 GET /v1/checkout-sessions/{id}。（视图若查询本服务，显示的就是本服务的记录，而不是您的商店的记录。）",
  ],
} as const satisfies Readonly<Record<string, DrillSentence>>;

export type Cause = keyof typeof CAUSES;

function withRemedy<const Name extends string>(
  invariant: JudgedInvariant,
  causes: Readonly<Record<Name, Words>>,
): Readonly<Record<Name, Words>> {
  const { remedy } = JUDGED_INVARIANTS[invariant];
  const rows = Object.entries<Words>(causes).map(([name, [english, chinese]]) => [
    name,
    [`${english} ${remedy[0]}`, `${chinese}${remedy[1]}`],
  ]);
  return Object.fromEntries(rows) as Readonly<Record<Name, Words>>;
}
