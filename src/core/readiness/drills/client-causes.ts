import type { Words } from "../../language.ts";

/** Likely mistakes of a client, each shown by an answer of the service or by the end of its command. */
export const CLIENT_CAUSES = {
  no_key: [
    "A create has no Idempotency-Key, and the service refuses it.",
    "创建请求没有 Idempotency-Key，本服务拒绝了它。",
  ],
  invalid_key: [
    "A create has an invalid key: a key has 8 to 128 printable ASCII characters, in one header line.",
    "创建请求的幂等键无效：应为一行请求头中的 8 到 128 个可打印 ASCII 字符。",
  ],
  new_key: [
    "A retry gets 409 order_conflict, because it has a new key: create one key for each purchase, store it before the first attempt or derive it only from the purchase, and send it with every attempt. Here order_conflict stops a second order, which the interface does not promise (decision 8).",
    "重试因使用新的幂等键收到 409 order_conflict：请为每次购买生成一个幂等键，在首次尝试之前保存或只由购买内容推导，每次尝试都使用它。此处 order_conflict 阻止了第二个订单，但接口并不保证这一点（decision 8）。",
  ],
  second_create: [
    "After the answer said that its order exists, another create with a new key gets 409 order_conflict, perhaps from a retry queue or a double click: check whether the order exists before another create.",
    "得知订单已存在后，又用新的幂等键创建，收到 409 order_conflict：可能由重试队列或重复点击引起。再次创建之前，请先查询订单是否已创建。",
  ],
  other_body: [
    "A retry gets 409 idempotency_key_reused: with the same key it sends another body, or to another path. Something in it changes with each attempt, such as a time or a description.",
    "重试收到 409 idempotency_key_reused：用同一幂等键发送了不同的请求体，或换了路径。其中有内容每次尝试都会变化，例如时间或描述。",
  ],
  changed_body: [
    "A retry is refused as invalid although the service accepted the create before: its body differs. Store the body with the key, and send both unchanged.",
    "服务已接受过该创建请求，重试却因无效被拒绝：请求体不同了。请把请求体与幂等键一起保存，并原样发送。",
  ],
  alike: [
    "The first create of an order gets 409 idempotency_key_reused: different order_ids have the same key, so that the second customer gets the first customer's order, or a 409. Derive the key from the whole, unchanged order_id, or generate a random key for each purchase and store it.",
    "订单的首次创建就收到 409 idempotency_key_reused：不同的 order_id 生成了同一个幂等键，第二位顾客会得到第一位的订单，或收到 409。请用完整且未改动的 order_id 生成幂等键，或为每次购买随机生成并保存。",
  ],
  reports_failure: [
    "The command reports a failure although it received its order, so the shop tells the customer that the purchase failed, or starts again.",
    "命令已得到订单却报告失败，因此商店会告诉顾客失败，或重新开始。",
  ],
  forgotten: [
    "The purchase sends no create when it is made again, although no attempt was answered: the order may exist, but the shop does not know it. Store the purchase and its key before the first attempt, and resume from there.",
    "尝试都没有得到响应，再次购买时却没有发送创建请求：订单可能已存在，而商店并不知道。请在首次尝试之前保存购买及其幂等键，之后继续完成。",
  ],
} as const satisfies Readonly<Record<string, Words>>;
