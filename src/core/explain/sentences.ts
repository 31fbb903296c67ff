import type { Status } from "../checkout/checkout.ts";
import type { AttemptResult } from "../checkout/payment.ts";
import type { Words } from "../language.ts";
import type { Attempt, LastChange } from "../checkout/shapes.ts";
import type { DeliveryEntry } from "../webhook/shapes.ts";

const UNUSED_PAGE: Words = ["the payment page has not been used yet", "付款人尚未使用支付页面"];
const CREATE_HINT: Words = [
  "the same order_id may be used again with a new key",
  "可用新的幂等键以同一订单号再次创建",
];
const STATUS_NOTES: Readonly<Partial<Record<Status, Words>>> = {
  created: UNUSED_PAGE,
  failed: CREATE_HINT,
  cancelled: CREATE_HINT,
  expired: CREATE_HINT,
};

/** In English only, because the portal does not show these sentences. */
export const SUMMARY_SENTENCES = {
  status: {
    created: (expiresAt) => `${UNUSED_PAGE[0]}; the checkout expires at ${expiresAt}`,
    pending: (expiresAt) => `the payer has started to pay; the checkout expires at ${expiresAt}`,
    succeeded: () => "paid, and final",
    failed: () => `not paid, and final: ${CREATE_HINT[0]}`,
    cancelled: () => `cancelled by the payer, and final: ${CREATE_HINT[0]}`,
    expired: (expiresAt) => `not paid before ${expiresAt}, and final: ${CREATE_HINT[0]}`,
  } satisfies Readonly<Record<Status, (expiresAt: string) => string>>,
  newest: (count: number) => `the newest of ${count} checkouts of this order_id`,
  noCheckout: (refusedCount: number) =>
    `no checkout was created with this order_id; ${refusedCount === 1 ? "1 request was" : `${refusedCount} requests were`} refused`,
  checkoutsGone: "the checkouts of this order no longer exist, because the store has since been restored",
  notWanted: "no endpoint subscribed to this event when it happened",
  sent: (acceptedCount: number, totalCount: number) =>
    `${acceptedCount} of ${totalCount} deliveries succeeded`,
  delivery: (type: string, state: string, attemptCount: number) =>
    `delivery of ${type}: ${state} after ${attemptCount} ${attemptCount === 1 ? "attempt" : "attempts"}`,
};

export const EXPLAIN_SENTENCES = {
  statusNotes: STATUS_NOTES,
  last: {
    started: (number: number) => [`payment attempt ${number} in progress`, `第 ${number} 次支付尝试进行中`],
    declined: (attemptsLeft: number) => [
      attemptsLeft === 0
        ? "declined, no attempt left"
        : `declined, ${attemptsLeft} ${attemptsLeft === 1 ? "attempt" : "attempts"} left`,
      attemptsLeft === 0 ? "支付被拒，尝试次数已用完" : `支付被拒，还可尝试 ${attemptsLeft} 次`,
    ],
    late: (attempt: number) => [
      `payment attempt ${attempt} ended too late, not applied`,
      `第 ${attempt} 次支付尝试的结果来得太晚，不生效`,
    ],
  },
  lastBy: {
    merchant: ["by the merchant", "由商户创建"],
    payer: ["by the payer", "由付款人操作"],
    order_id: ["by its reserved order_id", "由保留的订单号触发"],
    clock: ["by the clock", "由时钟触发"],
  } satisfies Readonly<Record<LastChange["by"], Words>>,
  later: (span: string) => [`${span} later`, `${span}后`],
  ago: (span: string) => [`${span} ago`, `${span}前`],
  ahead: (span: string) => [`in ${span}`, `${span}后`],
  justNow: ["just now", "刚刚"],
  tookMs: (ms: number) => [` in ${ms} ms`, `，耗时 ${ms} 毫秒`],
  byKey: (key: string) => [`, key ${key}`, `，幂等键 ${key}`],
  notAnswered: ["was not answered, and nothing was done", "未得到响应，也没有执行任何操作"],
  answered: (status: number) => [`was answered ${status}`, `响应为 ${status}`],
  answerLost: (status: number) => [
    `was answered ${status}, but the answer was lost`,
    `响应为 ${status}，但响应丢失`,
  ],
  isReplay: [
    ", with the same bytes as the first answer for its key: nothing was created",
    "，与该幂等键的首次响应逐字节相同：未创建任何内容",
  ],
  checkoutGone: [
    "; its checkout no longer exists, because the store has since been restored",
    "；其收款单已不存在，因为商店此后从快照恢复过",
  ],
  wasReplayed: [
    "; later requests with its key got the same bytes, and created nothing",
    "；之后使用该幂等键的请求得到逐字节相同的响应，未创建任何内容",
  ],
  pageOpened: ["payment page opened", "打开支付页面"],
  browserReturned: (target: string | null) => [
    `browser returned to ${target ?? "the shop"} (proves nothing)`,
    `浏览器返回到 ${target ?? "商店"}（不能证明已支付）`,
  ],
  attemptStarted: (number: number) => [`payment attempt ${number} started`, `开始第 ${number} 次支付尝试`],
  attempt: (number: number) => [`payment attempt ${number}`, `第 ${number} 次支付尝试`],
  attemptEnded: (number: number, outcome: Attempt["outcome"], attemptsLeft: number) => [
    `payment attempt ${number} ${outcome ?? "ended"}${outcome === "declined" ? `, ${attemptsLeft} left` : ""}`,
    `第 ${number} 次支付尝试${outcome === null ? "已结束" : OUTCOMES_IN_CHINESE[outcome]}${outcome === "declined" ? `，还可尝试 ${attemptsLeft} 次` : ""}`,
  ],
  attemptLate: (number: number, result: AttemptResult) => [
    `payment attempt ${number} ${result} too late: recorded, not applied (decision 10)`,
    `第 ${number} 次支付尝试${OUTCOMES_IN_CHINESE[result]}，但结果来得太晚：只记录，不生效（见约定 10）`,
  ],
  numbered: (number: number) => [`attempt ${number}`, `第 ${number} 次尝试`],
  noAnswer: ["no answer", "无响应"],
  nothing: ["nothing", "无"],
  called: {
    replay: ["replay", "重新推送"],
    duplicate: ["duplicated by a fault", "故障造成的重复"],
  } satisfies Readonly<Record<Exclude<DeliveryEntry["cause"], "event">, Words>>,
  endpoints: (count: number) => [`${count} endpoints`, `${count} 个接收端`],
  nextAttempt: (span: string) => [`next attempt in ${span}`, `${span}后进行下次尝试`],
  dueNow: ["next attempt due", "已到下次尝试的时间"],
  dueAttempt: (number: number, type: string, endpoint: string) => [
    `attempt ${number} of ${type} → ${endpoint}`,
    `${type} 的第 ${number} 次尝试 → ${endpoint}`,
  ],
  expires: ["the checkout expires", "收款单过期"],
  settles: ["the payment settles automatically", "自动产生支付结果"],
  dropped: ["dropped, not delivered", "已丢弃，未推送"],
  droppedBy: (fault: string) => [`dropped by fault ${fault}, not delivered`, `被故障 ${fault} 丢弃，未推送`],
  heldBy: (fault: string) => [`held back by fault ${fault}`, `被故障 ${fault} 推迟`],
  after: (type: string) => [`waiting until ${type} is accepted or given up`, `等待 ${type} 被接收或放弃`],
  behind: (type: string, fault: string) => [
    `waiting for ${type}, which fault ${fault} holds back`,
    `等待被故障 ${fault} 推迟的 ${type}`,
  ],
  byFault: (fault: string) => [` (fault ${fault})`, `（故障 ${fault}）`],
  arrived: (at: string) => [`arrived ${at}`, `${at} 送达`],
  afterEvent: (span: string) => [`${span} after the event`, `比事件晚 ${span}`],
  givenUp: ["given up", "已放弃"],
  heldBack: (reason: string) => [`nothing is delivered: ${reason}`, `当前不推送：${reason}`],
  held: [
    "waiting: paused (checkout endpoints list says why)",
    "等待中：接收端已暂停（原因见 checkout endpoints list）",
  ],
  setBack: ["the clock was set back", "时钟被拨回"],
  underWay: ["in progress", "进行中"],
  injected: (fault: string) => [`the injected fault ${fault}`, `注入的故障 ${fault}`],
  sameCause: ["same cause", "原因相同"],
} satisfies Sentences;

const OUTCOMES_IN_CHINESE: Readonly<Record<NonNullable<Attempt["outcome"]>, string>> = {
  succeeded: "成功",
  declined: "被拒",
  failed: "失败",
  abandoned: "已中止",
};

type Sentences = { readonly [fact: string]: Words | ((...values: never[]) => Words) | Sentences };
