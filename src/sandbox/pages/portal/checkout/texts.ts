import type { Texts } from "../../../../web/html.ts";
import { tagOf } from "../../../../web/language.ts";

/** The texts of the pages of checkouts. Lines of a story are in the words of `checkout explain`. */
export const TEXTS = {
  search: ["Order id, any id, or text", "订单号、任意 ID 或文字"],
  any: ["Any", "不限"],
  kinds: {
    order: ["Order", "订单"],
    checkout_session: ["Checkout session", "结账会话"],
  },
  clear: ["Clear", "清除"],
  columnMethod: ["Method", "支付方式"],
  answer: ["Last webhook answer", "最近一次 Webhook 响应"],
  age: ["Age", "距今"],
  session: ["session", "会话"],
  noWebhook: ["none yet", "暂无"],
  allTook: (count: number) => [`${count} endpoints ✓`, `${count} 个接收端 ✓`],
  someFailed: (failed: number, all: number) => [
    `${failed} of ${all} endpoints ✗`,
    `${all} 个接收端中 ${failed} 个失败 ✗`,
  ],
  retries: ["retrying", "重试中"],
  newest: ["Newest", "最新"],
  pages: ["Parts of the list", "列表分页"],
  noCheckouts: [
    "Orders and checkout sessions appear here as soon as one is created.",
    "创建订单或结账会话后，会立即显示在这里。",
  ],
  noMatch: ["No checkout matches.", "没有符合条件的订单。"],
  amongRequests: ["Look for it among the requests, also refused ones", "在请求中查找，包括被拒绝的请求"],
  searched: (count: number) => [
    `Looked through the newest ${count.toLocaleString(tagOf("en"))} checkouts, back to`,
    `已查找最新的 ${count.toLocaleString(tagOf("zh"))} 个订单，最早至`,
  ],
  order: ["Order", "订单号"],
  ofOrder: (count: string) => [`All ${count} checkouts of this order`, `此订单号的全部 ${count} 个订单`],
  description: ["Description", "商品说明"],
  expires: ["Expires", "过期时间"],
  paymentPage: ["Payment page", "支付页面"],
  openPage: ["Open payment page", "打开支付页面"],
  acts: ["Act in the payer's place", "代替顾客操作"],
  outcomes: {
    succeeded: ["Pay", "支付"],
    declined: ["Decline", "拒绝"],
    failed: ["Fail", "失败"],
    cancelled: ["Cancel", "取消"],
    expired: ["Expire now", "立即过期"],
  },
  done: (at: string) => [`Done at ${at}: `, `已于 ${at} 完成：`],
  late: ["Late success", "过期后支付"],
  isFinal: {
    succeeded: ["It is paid, and that is final.", "该订单已支付，状态不再变化。"],
    failed: ["It has failed, and that is final.", "该订单已失败，状态不再变化。"],
    cancelled: ["It was cancelled, and that is final.", "该订单已取消，状态不再变化。"],
    expired: ["It has expired, and that is final.", "该订单已过期，状态不再变化。"],
  },
  notLate: {
    open: [
      "Late success: possible after the end. Start a payment on the payment page, then let it expire.",
      "过期后支付：订单结束后才可使用。请先在支付页面发起支付，再让订单过期。",
    ],
    paid: ["Late success: not for one that was paid in time.", "过期后支付：已按时支付的订单不可使用。"],
    noAttempt: [
      "Late success: no payment was under way when it ended.",
      "过期后支付：订单结束时没有进行中的支付。",
    ],
    recorded: ["Late success: it is recorded already.", "过期后支付：已记录。"],
  },
  pending: ["Still to come", "即将发生"],
  story: ["What happened", "处理经过"],
  earlier: (count: number) => [
    `${count.toLocaleString(tagOf("en"))} earlier lines are not shown here. checkout explain tells all:`,
    `更早的 ${count.toLocaleString(tagOf("zh"))} 行未在此显示，可用 checkout explain 查看全部：`,
  ],
  next: ["What to type next", "接下来可以输入"],
  refusal: ["Refused because", "拒绝原因"],
  eventBody: ["Body of every delivery of it", "每次投递的正文"],
  replay: ["Deliver again", "重新投递"],
  delivery: ["Delivery", "投递"],
} satisfies Texts;
