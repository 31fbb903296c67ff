import { BUCKET_OWNER_TEXT } from "../request/rate-limit.ts";
import type { Words } from "../language.ts";

type Assumption = {
  readonly decision: number;
  readonly title: Words;
  readonly chosen: Words;
  readonly setting?: string;
  readonly shownBy?: Words;
};

export const ASSUMPTIONS: readonly Assumption[] = [
  {
    decision: 1,
    title: ["Base URL", "基础地址"],
    chosen: [
      "The API is at http://127.0.0.1:4242/v1; payment pages and everything else are on the same port.",
      "API 位于 http://127.0.0.1:4242/v1，支付页面等其他内容使用同一端口。",
    ],
    setting: "sandbox start --port, --allow-host",
  },
  {
    decision: 2,
    title: ["Ids", "标识符"],
    chosen: [
      "Ids are UUIDs of version 7, in lower case, and sort by time.",
      "ID 为小写的 UUIDv7，可按时间排序。",
    ],
  },
  {
    decision: 3,
    title: ["Order of refusals", "拒绝的先后顺序"],
    chosen: [
      "If a request has several errors, a fixed order decides which one the refusal names.",
      "请求有多处错误时，按固定顺序决定报告哪一处。",
    ],
  },
  {
    decision: 4,
    title: ["Error codes", "错误码"],
    chosen: [
      "error.code is one of a closed list; the interface specifies only statuses.",
      "error.code 取自固定列表；接口只规定了状态码。",
    ],
    shownBy: ["a request of the API was refused", "有 API 请求被拒绝"],
  },
  {
    decision: 5,
    title: ["Idempotency", "幂等"],
    chosen: [
      "A key belongs to a store for 30 days; a repeat with the same path and values gets the same bytes, any other request with the key gets 409 idempotency_key_reused.",
      "幂等键在一个商店内保留 30 天；以同一幂等键再次请求时，路径和取值相同则返回逐字节相同的响应，否则返回 409 idempotency_key_reused。",
    ],
    shownBy: [
      "a create was replayed, or its key was refused for another body",
      "有创建请求得到重放的响应，或因请求体不同而被拒绝",
    ],
  },
  {
    decision: 6,
    title: ["Strict JSON", "严格 JSON"],
    chosen: [
      "Bodies are strict JSON in UTF-8 of at most 16 KiB, sent as application/json.",
      "请求体为 UTF-8 编码的严格 JSON，至多 16 KiB，以 application/json 发送。",
    ],
    shownBy: ["a body was refused because of its form", "有请求体因格式被拒绝"],
  },
  {
    decision: 7,
    title: ["price_id", "price_id"],
    chosen: [
      "A create takes price_id instead of amount, currency and method, never both.",
      "创建时可用 price_id 代替金额、币种和支付方式，两者不能同时给出。",
    ],
    shownBy: ["a create named a price_id", "有创建请求使用了 price_id"],
  },
  {
    decision: 8,
    title: ["order_id", "order_id"],
    chosen: [
      "An order_id has at most one open or paid checkout in a store, across both endpoints; a second create with another key is 409 order_conflict.",
      "一个商店内（两个接口合并计算）每个订单号至多有一个未完成或已支付的收款单；用另一幂等键再次创建则返回 409 order_conflict。",
    ],
    shownBy: ["a create was refused with order_conflict", "有创建请求因 order_conflict 被拒绝"],
  },
  {
    decision: 9,
    title: ["Retrieve", "查询"],
    chosen: [
      "GET checkout-sessions/{id} also accepts the id of an order; an unknown id gets 404.",
      "GET checkout-sessions/{id} 也接受订单的 ID；未知的 ID 返回 404。",
    ],
    shownBy: ["an order was retrieved by its id, or an id was unknown", "有请求按 ID 查询订单，或 ID 不存在"],
  },
  {
    decision: 10,
    title: ["States", "状态"],
    chosen: [
      "A checkout can be paid for an hour; a declined attempt leaves it pending, and the fifth fails it; a result after the end is recorded but not applied.",
      "收款单一小时内可支付；支付被拒后仍为 pending，第五次被拒即失败；结束之后才到达的结果只记录，不生效。",
    ],
    setting: "sandbox start --checkout-lifetime",
    shownBy: [
      "a checkout expired, an attempt was declined, or a result was late",
      "有收款单过期、支付被拒，或结果来得太晚",
    ],
  },
  {
    decision: 11,
    title: ["Events", "事件"],
    chosen: [
      "Types are order.… and checkout_session.… with the status; the sandbox defines the fields of the body.",
      "类型为 order.… 和 checkout_session.… 加状态；请求体的字段由本沙箱规定。",
    ],
    shownBy: ["an endpoint accepted an event", "有接收端接收了事件"],
  },
  {
    decision: 12,
    title: ["Delivery headers", "推送请求头"],
    chosen: [
      "A delivery has Checkout-Event-Id, Checkout-Timestamp and Checkout-Signature; receivers accept a timestamp up to 300 s off.",
      "推送带有 Checkout-Event-Id、Checkout-Timestamp 和 Checkout-Signature；接收端允许时间戳最多相差 300 秒。",
    ],
    setting: "headerNames and toleranceSeconds of hosted-checkout/webhooks",
    shownBy: ["an endpoint accepted an event", "有接收端接收了事件"],
  },
  {
    decision: 13,
    title: ["Schedule", "重试时间表"],
    chosen: [
      "A delivery that was not accepted is attempted again after 5 s, 5 min and so on, eight times in all.",
      "未被接收的推送会在 5 秒、5 分钟等间隔后重试，总共尝试八次。",
    ],
    setting: "sandbox start --delivery-schedule, --delivery-timeout",
    shownBy: [
      "an endpoint accepted an event that it had not accepted at first",
      "有接收端接收了此前未接收的事件",
    ],
  },
  {
    decision: 14,
    title: ["Targets", "推送目标"],
    chosen: ["Events are delivered only to this machine.", "事件只推送到本机。"],
    setting: "sandbox start --allow-target",
  },
  {
    decision: 15,
    title: ["Keys", "密钥"],
    chosen: [
      "The scopes are orders:write, checkout_sessions:write and checkout_sessions:read; retrieving an order requires the last one.",
      "权限范围有 orders:write、checkout_sessions:write 和 checkout_sessions:read；查询订单需要最后一项。",
    ],
    shownBy: ["a request was refused because of its scope", "有请求因权限范围被拒绝"],
  },
  {
    decision: 16,
    title: ["Signing secret", "签名密钥"],
    chosen: [
      "A secret is whsec_…, and its whole text is the key of the signature; endpoints share the store's secret until theirs is rotated.",
      "签名密钥形如 whsec_…，整段文本即签名的密钥；各接收端在轮换之前共用商店的密钥。",
    ],
    setting: "endpoints rotate-secret <id>",
  },
  {
    decision: 17,
    title: ["Rate limit", "限流"],
    chosen: [
      `1000 requests a second for each ${BUCKET_OWNER_TEXT[0]}, up to twice that in a burst; beyond that, 429 with Retry-After.`,
      `每个 ${BUCKET_OWNER_TEXT[1]}每秒至多 1000 个请求，瞬时至多两倍；超出时返回 429 和 Retry-After。`,
    ],
    setting: "sandbox start --rate-limit",
    shownBy: ["a request was refused with 429", "有请求收到 429"],
  },
  {
    decision: 18,
    title: ["Clock", "时钟"],
    chosen: [
      "The store's clock can be frozen and moved, and decides when work is due.",
      "商店的时钟可以冻结和调整，事项何时到期由它决定。",
    ],
    setting: "sandbox clock",
    shownBy: ["the clock was moved", "商店的时钟被调整"],
  },
  {
    decision: 19,
    title: ["Return to the merchant", "返回商家"],
    chosen: [
      "Customers are sent back to /?order_id=…&session_id=… of the first registered origin, never with a status.",
      "顾客返回首个登记地址的 /?order_id=…&session_id=…，地址中从不带状态。",
    ],
    setting: "return-origins add <origin>",
    shownBy: [
      "a payer acted on a payment page with a return link",
      "付款人在提供返回链接的支付页面上进行了操作",
    ],
  },
  {
    decision: 20,
    title: ["No real payments", "没有真实支付"],
    chosen: [
      "livemode is false, nothing is refunded or paid out, and nothing here opens production.",
      "livemode 为 false，不退款也不结算，这里的任何操作都不会开放生产环境。",
    ],
  },
  {
    decision: 37,
    title: ["Reserved order_ids", "保留的订单号"],
    chosen: [
      "An order whose order_id ends with ~succeeded or another outcome settles automatically after a second.",
      "订单号以 ~succeeded 等结果结尾的订单，一秒后自动产生支付结果。",
    ],
    setting: "another order_id",
    shownBy: ["a create used a reserved order_id", "有创建请求使用了保留的订单号"],
  },
  {
    decision: 38,
    title: ["Acting in the payer's place", "代付款人操作"],
    chosen: [
      "checkout sandbox pay and the control API act in the payer's place.",
      "checkout sandbox pay 和控制 API 可以代替付款人操作。",
    ],
    shownBy: ["the control API acted in the payer's place", "曾通过控制 API 代付款人操作"],
  },
  {
    decision: 88,
    title: ["Return paths", "返回路径"],
    chosen: [
      "Customers are sent back to the path that was registered with the origin, / by default.",
      "顾客返回与地址一同登记的路径，默认为 /。",
    ],
    setting: "return-origins add <origin> --path",
    shownBy: [
      "a payer acted on a payment page with a return link to a path other than /",
      "付款人在返回路径不是 / 的支付页面上进行了操作",
    ],
  },
];

export function assumptionTitle(decision: number): Words {
  return ASSUMPTIONS.find((assumption) => assumption.decision === decision)?.title ?? ["", ""];
}
