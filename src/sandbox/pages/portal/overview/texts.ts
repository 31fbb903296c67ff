import type { Texts } from "../../../../web/html.ts";

export const OVERVIEW_TEXTS = {
  failing: ["Failing now", "推送异常"],
  noneFailing: ["No endpoint is failing.", "没有推送异常的接收端。"],
  noEndpoint: ["No endpoint is registered, so events are not delivered.", "尚未登记接收端，事件不会推送。"],
  wait: (count: string) => [
    count === "1" ? "1 delivery waits" : `${count} deliveries wait`,
    `${count} 个推送等待中`,
  ],
  waiting: ["Waiting", "等待中"],
  last: ["Last result", "最近结果"],
  refused: ["Recently refused", "最近被拒绝"],
  noneRefused: ["No recent request was refused.", "最近没有请求被拒绝。"],
  allRefused: ["All refused requests", "所有被拒绝的请求"],
  noneDue: ["Nothing becomes due within 24 hours.", "24 小时内没有到期事项。"],
  openClock: ["Open the clock", "前往时钟页"],
  kinds: {
    delivery: ["next attempt", "下一次尝试"],
    expiry: ["expires", "过期"],
    settlement: ["settles automatically", "自动产生支付结果"],
  },
  others: (count: string) => [`and ${count} more`, `另有 ${count} 项`],
  unpaid: ["Unpaid", "未支付"],
  noneUnpaid: ["No checkout is waiting for a payment.", "没有等待支付的收款单。"],
  unpaidCount: (count: string) => [
    count === "1" ? "1 checkout is waiting for a payment" : `${count} checkouts are waiting for a payment`,
    `${count} 个收款单等待支付`,
  ],
  oldest: ["; oldest created", "，最早创建于"],
} satisfies Texts;
