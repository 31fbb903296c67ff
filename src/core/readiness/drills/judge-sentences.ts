import type { Words } from "../../language.ts";
import type { DrillSentence } from "../drill-sentences.ts";
import type { DrillStep, StepText } from "../drill-shapes.ts";

export const NO_VERDICT = {
  unreadable: [
    "the view of the order could not be read: it must answer 2xx, or 404 for an unknown order; a command must exit with 0",
    "无法读取订单视图：视图必须返回 2xx，订单不存在时返回 404；如果是命令，退出码必须为 0",
  ],
  late: (seconds) => [
    `the view showed the payment after ${seconds} s: set settle, the maximum delay of your view, to a longer time`,
    `视图在 ${seconds} 秒之后才显示支付：请调大 settle（视图允许的最大延迟）`,
  ],
  unreached: (got) => [
    `no visit reached your return page; the first visit got ${got}: let customers open the page without a sign-in, or set cookie`,
    `所有访问均未到达返回页面，首次访问的结果为 ${got}：请允许不登录访问该页面，或设置 cookie`,
  ],
  unknown_order: [
    "the view answers 404 for an order that your shop did not create: let your shop create the orders (create), or name unpaid orders of your shop with --checkout",
    "订单不是由您的商店创建的，视图对其返回 404：请让商店创建订单（create），或用 --checkout 指定商店的未支付订单",
  ],
  no_order: (why) => [`the order could not be created: ${why}`, `无法创建订单：${why}`],
  budget: ["the budget was used up, so this was not run", "时间预算已用完，因此没有运行"],
  stuck: [
    "the shop refused all events after a restart, so this was not run",
    "重启之后商店拒绝所有事件，因此没有运行",
  ],
  interrupted: ["the run was interrupted before this part", "运行在此之前被中断"],
  unpayable: (why) => [`this could not be run: ${why}`, `无法运行：${why}`],
} as const satisfies Readonly<Record<string, DrillSentence>>;

export const NOTES = {
  hasty: [
    "The client does not wait after a 429: its next attempt comes before the time in Retry-After has passed, so the limit may stay in effect. No order was created twice, so this is a note, not a failure; it is better to wait, and then to continue with the same key.",
    "客户端收到 429 后没有等待：在 Retry-After 规定的时间结束之前就继续尝试，限制可能因此一直生效。没有重复下单，因此这只是提示，不算失败；但最好先等待，再使用相同的幂等键继续。",
  ],
  dead_page: [
    "Buying again after a checkout has ended creates no new checkout: an order of this shop can be bought only once. If that is not what you want, send a new Idempotency-Key after a checkout that failed, expired or was cancelled.",
    "收款单结束后再次下单不会产生新的收款单：该商店的订单只能购买一次。如果并非有意，请在收款单失败、过期或取消后使用新的 Idempotency-Key。",
  ],
  own_ids: [
    "Your shop refused an order_id of this form before it sent a create, so this was not tested.",
    "商店在发送创建请求之前就拒绝了这种形式的订单号，因此没有检查。",
  ],
} as const satisfies Readonly<Record<string, Words>>;

export const MISSING_FIELDS = {
  bookings: {
    isRisk: true,
    title: ["the number of bookings in the view", "视图显示的入账次数"],
    note: [
      "the view shows only a status, which cannot reveal a second booking: let the view show how often the order was booked, as the JSON field times or in a place that bookings names",
      "视图只显示状态，无法看出是否重复入账：请让视图显示订单的入账次数（JSON 字段 times，或用 bookings 指定其位置）",
    ],
  },
  create: {
    isRisk: true,
    title: ["orders that your shop creates", "由您的商店创建的订单"],
    note: [
      "the shop created no orders for this run, so repeated purchases, neighbour orders and simultaneous payments were not tested: set the field create",
      "本次运行中商店没有创建订单，因此没有检查再次下单、相邻订单和同时到达的支付：请设置 create 字段",
    ],
  },
  endpoint: {
    isRisk: true,
    title: ["webhooks", "Webhook"],
    note: [
      "the store has no endpoint, so no webhook was sent, and your shop could learn of payments only from the API: set the field endpoint",
      "沙箱中的商店没有接收端，因此没有发送 Webhook，您的商店只能通过查询 API 得知支付结果：请设置 endpoint 字段",
    ],
  },
  amount: {
    isRisk: false,
    title: ["the booked amount", "入账金额"],
    note: [
      "the view shows no amount, so the booked amount was not compared: set the field amount",
      "视图不显示金额，因此没有比较入账金额：请设置 amount 字段",
    ],
  },
  restart: {
    isRisk: false,
    title: ["a restart of the shop", "商店重启"],
    note: [
      "the shop was not restarted, so this run cannot show whether the shop keeps events only in memory: set the field restart or serve",
      "没有重启商店，因此无法得知商店是否只把事件保存在内存中：请设置 restart 或 serve 字段",
    ],
  },
  quick: {
    isRisk: true,
    title: ["the same payment event again, more than 30 s later", "超过 30 秒后再次推送同一支付事件"],
    note: [
      "the run used --quick: it did not show whether the shop forgets events after 30 s",
      "运行使用了 --quick：没有检查商店是否在 30 秒后忘记事件",
    ],
  },
} as const satisfies Readonly<
  Record<string, { readonly isRisk: boolean; readonly title: Words; readonly note: Words }>
>;
export type MissingField = keyof typeof MISSING_FIELDS;

export function risksIn(steps: readonly Pick<DrillStep, "name" | "cause">[]): readonly StepText[] {
  const risks = Object.entries(MISSING_FIELDS).filter(([, { isRisk }]) => isRisk);
  const riskNames = new Set(risks.map(([field]) => missingStepName(field)));
  return steps.flatMap(({ name, cause }) => (cause !== null && riskNames.has(name) ? [cause] : []));
}

export function missingStepName(field: string): string {
  return `no_${field}`;
}

export const DROPPED_EVENT_ADVICE: Words = [
  "The payment event was lost permanently, so the order was never booked. Poll orders that stay unpaid (GET /v1/checkout-sessions/{id}), or replay the events (checkout events replay).",
  "支付事件彻底丢失，订单因此一直没有入账。请主动查询长时间未支付的订单（GET /v1/checkout-sessions/{id}），或重新推送事件（checkout events replay）。",
];

export const NOT_JUDGED_REASONS = {
  status_alone: (amountField: string): Words => [
    `the view returns only a status; it could also return times and ${amountField}`,
    `视图只给出状态；还可以返回 times 和 ${amountField}`,
  ],
  nothing_failed: ["no purchase failed, so no recovery was needed", "没有失败的购买，因此无需恢复"],
  no_view: ["only the orders were checked, not the shop's bookings", "只查看了订单，没有查看商店的入账"],
  not_shown: ["no run tested this rule", "各次运行均未检查此规则"],
  not_again: [
    "this rule was broken once, but repeating the run did not confirm it",
    "此规则曾被违反一次，但重复运行未能确认",
  ],
} as const satisfies Readonly<Record<string, Words | ((amountField: string) => Words)>>;

export type NotJudgedReason = keyof typeof NOT_JUDGED_REASONS;
