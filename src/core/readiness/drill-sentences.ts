import type { Words } from "../language.ts";

/** A sentence of a drill, possibly with values. Steps are stored in English and translated by `drillWords`. */
export type DrillSentence = Words | ((...values: string[]) => Words);

/** Expected results of steps. */
export const EXPECTED_RESULTS = {
  paid: ["paid", "已支付"],
  unpaid: ["not paid", "未支付"],
  unpaidUnlessAsked: ["not paid, unless your shop has asked the API", "未支付，除非您的商店查询过 API"],
  paidOnce: ["paid, once", "已支付，只入账一次"],
  accepted: ["2xx", "2xx"],
  held: ["each invariant holds", "符合每条规则"],
  answer: ["an answer", "有响应"],
  refused: ["4xx", "4xx"],
  notAccepted: ["not 2xx", "非 2xx"],
  either: ["2xx or 4xx", "2xx 或 4xx"],
  another: ["another attempt", "再次尝试"],
  sameKey: ["the same key", "相同的幂等键"],
  one: ["1", "1"],
  endsWell: [
    "exit code 0 once its order is known to exist, and not before",
    "得知订单已存在后退出码为 0，而不是在此之前",
  ],
} as const satisfies Readonly<Record<string, Words>>;

/** Results of steps, with translatable values. Longer sentences come first. */
export const STEP_RESULTS = {
  answered: (answers, view) => [`answered ${answers}; ${view}`, `返回 ${answers}；${view}`],
  notSent: (count) => [
    `${count} requests were not sent: the drill stopped early`,
    `${count} 个请求没有发送：演练提前停止`,
  ],
  redirects: (count) => [`more than ${count} redirects`, `重定向超过 ${count} 次`],
  otherId: ["another order_id", "另一个 order_id"],
  noCreate: ["no create was received", "没有收到创建请求"],
  blind: ["exit code 0, and no answer", "退出码 0，且没有响应"],
  timeUp: ["killed at the timeout", "超时被终止"],
} as const satisfies Readonly<Record<string, DrillSentence>>;

/** Results of steps with the merchant's own text, which stays unchanged. */
export const QUOTING_RESULTS = {
  paid: (got) => [`paid: ${got}`, `已支付：${got}`],
  unpaid: (got) => [`not paid: ${got}`, `未支付：${got}`],
  exited: (code, text) => [`exit code ${code}: ${text}`, `退出码 ${code}：${text}`],
  afterWith: (answer, ms, text) => [
    `${answer} after ${ms} ms: ${text}`,
    `${answer}，耗时 ${ms} 毫秒：${text}`,
  ],
  after: (answer, ms) => [`${answer} after ${ms} ms`, `${answer}，耗时 ${ms} 毫秒`],
} as const satisfies Readonly<Record<string, DrillSentence>>;

/** The items of the lists in the sentences above, and the words that join them. */
export const LIST_ITEMS = {
  // Last, because these match the most texts.
  and: (one, other) => [`${one} and ${other}`, `${one} 和 ${other}`],
} as const satisfies Readonly<Record<string, DrillSentence>>;

/** A failed request, with the network's message. */
export function lostAnswerText(failure: string, message: string): Words {
  return [`${failure}: ${message}`, `${failure}：${message}`];
}

/** Network messages for requests without an answer; texts of the operating system stay unchanged. */
export const FAILURE_SENTENCES = {
  timeout: (ms) => [`no whole answer within ${ms} ms`, `${ms} 毫秒内没有完整的响应`],
  upgraded: ["status 101 is not an answer to this request", "状态 101 不是对该请求的响应"],
  closed: ["the connection was closed", "连接被关闭"],
  tooLarge: (bytes) => [`the answer is larger than ${bytes} bytes`, `响应超过 ${bytes} 字节`],
  httpThere: (reason) => [
    `no TLS connection: ${reason}; the server may speak http, not https`,
    `无法建立 TLS 连接：${reason}；对方可能使用 http 而不是 https`,
  ],
  noTls: (reason) => [`no TLS connection: ${reason}`, `无法建立 TLS 连接：${reason}`],
} as const satisfies Readonly<Record<string, DrillSentence>>;
