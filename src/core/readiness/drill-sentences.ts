import type { Words } from "../language.ts";
import { sentNamesIn } from "../webhook/dialect-differences.ts";

export type DrillSentence = Words | ((...values: string[]) => Words);

export const EXPECTED_RESULTS = {
  paid: ["paid", "已支付"],
  unpaid: ["not paid", "未支付"],
  unpaid_unless_asked: ["not paid, unless your shop has asked the API", "未支付，除非您的商店查询过 API"],
  paid_once: ["paid, once", "已支付，只入账一次"],
  held: ["each invariant holds", "符合每条规则"],
  answer: ["an answer", "有响应"],
  "not 2xx": ["not 2xx", "非 2xx"],
  "2xx or 4xx": ["2xx or 4xx", "2xx 或 4xx"],
  any: ["any answer", "任何响应"],
  amount: (amount) => [`the amount ${amount}`, `金额 ${amount}`],
  another: ["another attempt", "再次尝试"],
  same_key: ["the same key", "相同的幂等键"],
  ends_well: ["exit code 0 only after the order is known to exist", "确认订单已存在之后才以退出码 0 结束"],
} as const satisfies Readonly<Record<string, DrillSentence>>;

function replaceNames(text: string, namesText: string): string {
  const sentNames = sentNamesIn(namesText);
  return text.replace(/[A-Za-z]+(?:[._-][A-Za-z]+)+/g, (name) => sentNames.get(name) ?? name);
}

export const STEP_RESULTS = {
  in_names: (text, namesText) => [replaceNames(text, namesText), replaceNames(text, namesText)],
  answered: (answers, view) => [`answered ${answers}; ${view}`, `返回 ${answers}；${view}`],
  not_sent: (count) => [
    `${count} requests were not sent: the drill stopped early`,
    `${count} 个请求没有发送：演练提前结束`,
  ],
  many_redirects: (count) => [`more than ${count} redirects`, `重定向超过 ${count} 次`],
  other_id: ["another order_id", "另一个订单号"],
  shared_order: ["the order of another purchase", "另一次购买的订单"],
  none_sent: ["no create was received", "没有收到创建请求"],
  blind: ["exit code 0 without an answer", "没有得到响应，却以退出码 0 结束"],
  time_up: ["killed at the timeout", "超时被终止"],
  shows_paid: (gotText) => [`paid: ${gotText}`, `已支付：${gotText}`],
  live_checkouts: (count) => [
    `${count} checkouts of the order are open or paid`,
    `该订单有 ${count} 个收款单未结束或已支付`,
  ],
  shows_amount: (shownAmount, amount, gotText) => [
    `paid, ${shownAmount} minor units in place of ${amount}: ${gotText}`,
    `已支付，最小货币单位金额为 ${shownAmount} 而不是 ${amount}：${gotText}`,
  ],
  shows_unpaid: (gotText) => [`not paid: ${gotText}`, `未支付：${gotText}`],
  exited: (code, text = "") =>
    text === ""
      ? [`exit code ${code}`, `退出码 ${code}`]
      : [`exit code ${code}: ${text}`, `退出码 ${code}：${text}`],
  killed: (text = "") => (text === "" ? ["killed", "被终止"] : [`killed: ${text}`, `被终止：${text}`]),
  after_with: (answer, ms, text) => [
    `${answer} after ${ms} ms: ${text}`,
    `${answer}，耗时 ${ms} 毫秒：${text}`,
  ],
  after: (answer, ms) => [`${answer} after ${ms} ms`, `${answer}，耗时 ${ms} 毫秒`],
  not_started_again: ["the shop did not start again after it was killed", "商店被强制结束后没有再次启动"],
  no_answer: ["no answer", "没有响应"],
  no_event_delivered: [
    "the order is not shown as paid, and no event was delivered, because the store has no endpoint: checkout endpoints add URL",
    "订单未显示为已支付，也没有推送事件，因为沙箱中的商店没有接收端：checkout endpoints add URL",
  ],
  made_no_order: ["the shop created no order", "商店没有创建订单"],
  no_more_orders: ["--checkout named no further order", "--checkout 没有指定更多订单"],
  no_payment: ["the order has no payment", "订单没有支付"],
} as const satisfies Readonly<Record<string, DrillSentence>>;

const FAILURES = {
  unreachable: "无法连接",
  timeout: "超时",
  connection_lost: "连接中断",
  bad_answer: "响应无效",
  target_forbidden: "不允许推送到该地址",
  interrupted: "沙箱已停止",
  aborted: "被终止",
  not_run: "无法运行",
} as const;
export type FailureCode = keyof typeof FAILURES;

export const FAILURE_RESULTS: Readonly<Record<string, DrillSentence>> = Object.fromEntries(
  Object.entries(FAILURES).flatMap(([code, chinese]): (readonly [string, DrillSentence])[] => [
    [
      `no_answer:${code}`,
      (text = "") => (text === "" ? [code, chinese] : [`${code}: ${text}`, `${chinese}：${text}`]),
    ],
    [
      `no_answer_after:${code}`,
      (ms, text) => [`${code} after ${ms} ms: ${text}`, `${chinese}，耗时 ${ms} 毫秒：${text}`],
    ],
  ]),
);
