import type { Words } from "../language.ts";

/** A sentence of a drill, possibly with values. */
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
  amount: (amount) => [`the amount ${amount}`, `金额 ${amount}`],
  another: ["another attempt", "再次尝试"],
  same_key: ["the same key", "相同的幂等键"],
  ends_well: [
    "exit code 0 once its order is known to exist, and not before",
    "得知订单已存在后退出码为 0，而不是在此之前",
  ],
} as const satisfies Readonly<Record<string, DrillSentence>>;

export const STEP_RESULTS = {
  answered: (answers, view) => [`answered ${answers}; ${view}`, `返回 ${answers}；${view}`],
  not_sent: (count) => [
    `${count} requests were not sent: the drill stopped early`,
    `${count} 个请求没有发送：演练提前停止`,
  ],
  many_redirects: (count) => [`more than ${count} redirects`, `重定向超过 ${count} 次`],
  other_id: ["another order_id", "另一个 order_id"],
  none_sent: ["no create was received", "没有收到创建请求"],
  blind: ["exit code 0, and no answer", "退出码 0，且没有响应"],
  time_up: ["killed at the timeout", "超时被终止"],
  shows_paid: (got) => [`paid: ${got}`, `已支付：${got}`],
  shows_unpaid: (got) => [`not paid: ${got}`, `未支付：${got}`],
  exited: (code, text) => [`exit code ${code}: ${text}`, `退出码 ${code}：${text}`],
  after_with: (answer, ms, text) => [
    `${answer} after ${ms} ms: ${text}`,
    `${answer}，耗时 ${ms} 毫秒：${text}`,
  ],
  after: (answer, ms) => [`${answer} after ${ms} ms`, `${answer}，耗时 ${ms} 毫秒`],
} as const satisfies Readonly<Record<string, DrillSentence>>;
