import type { Texts } from "../../../../web/html.ts";
import { languageTagOf } from "../../../../web/language.ts";

export const CHECKOUTS_TEXTS = {
  search: ["order_id, any id, or text", "订单号、任意 ID 或文本"],
  kinds: {
    order: ["Order", "订单"],
    checkout_session: ["Checkout session", "收银会话"],
  },
  columnMethod: ["Method", "支付方式"],
  answer: ["Last webhook answer", "最近一次 Webhook 响应"],
  age: ["Age", "距今"],
  session: ["session", "会话"],
  noWebhook: ["none yet", "暂无"],
  allOk: (count: number) => [`${count} endpoints ✓`, `${count} 个接收端 ✓`],
  someFailed: (failedCount: number, totalCount: number) => [
    `${failedCount} of ${totalCount} endpoints ✗`,
    `${totalCount} 个接收端中 ${failedCount} 个失败 ✗`,
  ],
  retries: ["retrying", "重试中"],
  noCheckouts: [
    "Orders and checkout sessions will appear here when they are created.",
    "创建的订单和收银会话将显示在此处。",
  ],
  byAmount: ["no price: use the amount", "不选价格，直接填写金额"],
  amountHint: ["only without a price (default: 1000)", "不选价格时填写；默认 1000"],
  create: ["Create", "创建"],
  searchRequests: ["Search the requests, including refused ones", "在请求中查找，包括被拒绝的请求"],
  foundTitle: (text: string) => [`Search: ${text}`, `搜索：${text}`],
  refusedOrders: ["Refused orders without a checkout", "被拒绝、没有收款单的订单"],
  events: ["Events of this type", "该类型的事件"],
  nothingFound: [
    "No order_id, description, address or event type in this store contains this text.",
    "本商店的订单号、商品说明、地址和事件类型中均未找到此文本。",
  ],
  searchOlder: ["Search older checkouts", "继续查找更早的收款单"],
  moreRequests: ["Search all requests", "在全部请求中继续查找"],
  searched: (count: number) => [
    `Searched the newest ${count.toLocaleString(languageTagOf("en"))} checkouts, back to`,
    `已查找最新的 ${count.toLocaleString(languageTagOf("zh"))} 个收款单，最早至`,
  ],
  allOfOrder: (count: string) => [`All ${count} checkouts of this order`, `此订单号的全部 ${count} 个收款单`],
  expires: ["Expires", "过期时间"],
  paymentPage: ["Payment page", "支付页面"],
  openPage: ["Open payment page", "打开支付页面"],
  acts: ["Simulate the payer", "代替付款人操作"],
  outcomes: {
    succeeded: ["Pay", "支付"],
    declined: ["Decline", "支付被拒"],
    failed: ["Fail", "失败"],
    cancelled: ["Cancel", "取消"],
    expired: ["Expire now", "立即过期"],
  },
  done: (at: string) => [`Done at ${at}: `, `已于 ${at} 完成：`],
  late: ["Late success", "结束后支付"],
  isFinal: {
    succeeded: ["Paid; this status is final.", "该收款单已支付，状态不再变化。"],
    failed: ["Failed; this status is final.", "该收款单支付失败，状态不再变化。"],
    cancelled: ["Cancelled; this status is final.", "该收款单已取消，状态不再变化。"],
    expired: ["Expired; this status is final.", "该收款单已过期，状态不再变化。"],
  },
  notLate: {
    open: [
      "Late success: possible after the checkout has ended. Start a payment on the payment page, then let the checkout expire.",
      "结束后支付：收款单结束后才可使用。请先在支付页面发起支付，再让收款单过期。",
    ],
    paid: [
      "Late success: not possible, because the checkout was paid in time.",
      "结束后支付：不可使用，因为该收款单已按时支付。",
    ],
    noAttempt: [
      "Late success: not possible, because no payment was in progress when the checkout ended.",
      "结束后支付：不可使用，因为收款单结束时没有进行中的支付。",
    ],
    recorded: ["Late success: already recorded.", "结束后支付：已记录。"],
  },
  pending: ["Pending", "即将发生"],
  story: ["What happened", "处理经过"],
  earlier: (count: number) => [
    `${count.toLocaleString(languageTagOf("en"))} earlier lines are not shown here. checkout explain shows all of them:`,
    `更早的 ${count.toLocaleString(languageTagOf("zh"))} 行未在此显示，可用 checkout explain 查看全部：`,
  ],
  cause: (text: string) => [`(${text})`, `（${text}）`],
  save: ["Save this story", "保存这份记录"],
  saved: (at: string) => [
    `Saved at ${at} by the store’s clock. All times are in UTC.`,
    `保存于 ${at}（商店时钟）。所有时间均为 UTC。`,
  ],
  next: ["Next commands", "后续命令"],
  refusal: ["Reason for the refusal", "拒绝原因"],
  eventBody: ["Body of every delivery", "每次推送的请求体"],
  replay: ["Deliver again", "重新推送"],
  delivery: ["Delivery", "推送"],
} satisfies Texts;
