import type { Words } from "../language.ts";

/** A sentence of a drill, possibly with values. Steps are stored in English and translated by `drillWords`. */
export type DrillSentence = Words | ((...values: string[]) => Words);

/** Expected results of steps. */
export const EXPECTED_RESULTS = {
  paid: ["paid", "已支付"],
  unpaid: ["not paid", "未支付"],
  unpaidUnlessAsked: ["not paid, unless your shop has asked the API", "未支付，除非您的商店查询过 API"],
  paidIfAsked: ["not paid, or paid after asking the API", "未支付，或查询 API 之后已支付"],
  unchanged: ["2xx, paid, and the view unchanged", "2xx，已支付，且视图没有变化"],
  stillPaid: ["2xx, still paid", "2xx，仍为已支付"],
  paidOnce: ["paid, once", "已支付，只入账一次"],
  paidSoon: ["paid, now or after the other events", "立即或收到其他事件之后已支付"],
  accepted: ["2xx", "2xx"],
  answer: ["an answer", "有响应"],
  refused: ["4xx", "4xx"],
  notAccepted: ["not 2xx", "非 2xx"],
  either: ["2xx or 4xx", "2xx 或 4xx"],
  create: ["a create that succeeds", "创建成功"],
  another: ["another attempt", "再次尝试"],
  sameKey: ["the same key", "相同的幂等键"],
  sameKeyLater: ["the same key, after Retry-After", "相同的幂等键，在 Retry-After 之后"],
  one: ["1", "1"],
  endsWell: [
    "exit code 0 once its order is known to exist, and not before",
    "得知订单已存在后退出码为 0，而不是在此之前",
  ],
  second: ["a second purchase, with another key", "第二次购买，使用不同的幂等键"],
  keyEach: ["a key for each", "各用各的幂等键"],
  reused: ["409 idempotency_key_reused", "409 idempotency_key_reused"],
} as const satisfies Readonly<Record<string, Words>>;

/** Results of steps, with translatable values. Longer sentences come first. */
export const STEP_RESULTS = {
  andPage: (view, page) => [`${view}; page: ${page}`, `${view}；页面：${page}`],
  returned: (view, way) => [`${view}; returned ${way}`, `${view}；返回方式：${way}`],
  viewChanged: (seen) => [`${seen}; the view changed`, `${seen}；视图有变化`],
  viewTwice: (seen) => [`${seen}; the view shows it twice`, `${seen}；视图显示了两份`],
  viewUndone: (seen) => [`${seen}; the view no longer shows a booking`, `${seen}；视图不再显示入账`],
  oneOf: (view, count) => [`${view} (1 of ${count} orders)`, `${view}（${count} 个订单之一）`],
  hasAsked: (view) => [`${view} (it has asked the API)`, `${view}（已查询 API）`],
  answered: (answers, view) => [`answered ${answers}; ${view}`, `返回 ${answers}；${view}`],
  notWanted: (view) => [`no endpoint subscribes to it; ${view}`, `没有接收端接收该事件；${view}`],
  noAnswer: (error) => [`no answer (${error})`, `无响应（${error}）`],
  unknown: (got) => [`unknown: ${got}`, `未知：${got}`],
  notSent: (count) => [
    `${count} requests were not sent: the drill stopped early`,
    `${count} 个请求没有发送：演练提前停止`,
  ],
  redirects: (count) => [`more than ${count} redirects`, `重定向超过 ${count} 次`],
  dropped: (result) => [`${result}, and its answer dropped`, `${result}，响应已丢弃`],
  noCreate: ["no create was received", "没有收到创建请求"],
  none: ["none", "无"],
  noAttempt: ["no other attempt", "没有再次尝试"],
  moreRunAgain: (count) => [
    `${count} more, when the command was run again`,
    `再次运行命令时又有 ${count} 次`,
  ],
  more: (count) => [`${count} more`, `又有 ${count} 次`],
  early: (got, count) => [`${got}; ${count} before Retry-After`, `${got}；其中 ${count} 次早于 Retry-After`],
  noRefusal: ["no refusal", "没有被拒绝"],
  blind: ["exit code 0, and no answer", "退出码 0，且没有响应"],
  timeUp: ["killed at the timeout", "超时被终止"],
  exitCode: (code) => [`exit code ${code}`, `退出码 ${code}`],
  signal: ["ended by a signal", "被信号终止"],
  noKey: (result) => [`no key: ${result}`, `没有幂等键：${result}`],
  oneKind: ["some of one kind", "一类：没有覆盖全部"],
  bothKinds: ["some of both kinds", "两类：都没有覆盖全部"],
  noNumber: ["no number", "没有数字"],
  leftOut: ["skipped", "已略过"],
  limitedOnce: ["answered 429 once", "返回 429 一次"],
  limited: (count) => [`answered 429 ${count} times`, `返回 429 ${count} 次`],
  onlyOrders: ["only orders were drilled", "只演练了订单"],
  onlySessions: ["only sessions were drilled", "只演练了会话"],
} as const satisfies Readonly<Record<string, DrillSentence>>;

/** Results of steps with the merchant's own text, which stays unchanged. */
export const QUOTING_RESULTS = {
  sameKey: (result) => [`the same key: ${result}`, `相同的幂等键：${result}`],
  otherKey: (key, result) => [`another key, ${key}: ${result}`, `另一个幂等键 ${key}：${result}`],
  oneKeyFor: (order, other) => [`one key for ${order} and ${other}`, `${order} 和 ${other} 共用一个幂等键`],
  paid: (got) => [`paid: ${got}`, `已支付：${got}`],
  unpaid: (got) => [`not paid: ${got}`, `未支付：${got}`],
  exited: (code, text) => [`exit code ${code}: ${text}`, `退出码 ${code}：${text}`],
  afterWith: (answer, ms, text) => [
    `${answer} after ${ms} ms: ${text}`,
    `${answer}，耗时 ${ms} 毫秒：${text}`,
  ],
  after: (answer, ms) => [`${answer} after ${ms} ms`, `${answer}，耗时 ${ms} 毫秒`],
} as const satisfies Readonly<Record<string, DrillSentence>>;

/** Why a drill of duplicates leaves something unproven; the outcomes and kinds are in `LIST_ITEMS`. */
export const DUPLICATES_LIMITATIONS = {
  notDrilled: (list, count) => [
    `the drill of duplicates skipped some outcomes of ${list}. Name ${count} unpaid checkouts of a kind, each with --checkout ID, or let your shop create them: --create CMD`,
    `重复推送演练没有覆盖：${list}。请为每类指定 ${count} 个未支付的收款单，每个用 --checkout ID，或让您的商店创建：--create CMD`,
  ],
  statusAlone: [
    "the view of the duplicates drill shows only a status, which cannot reveal a second booking: let it show how often the order was booked, such as bookings: 1",
    "重复推送演练的视图只显示状态，无法看出是否重复入账：请显示订单入账了几次，例如 bookings: 1",
  ],
  quick: [
    "the drill of duplicates was run with --quick: it did not show whether the shop forgets events after 30 s",
    "重复推送演练使用了 --quick：没有检查对事件的记忆是否在 30 秒后过期",
  ],
  rateLimited: [
    "the shop has a rate limit: refused events were sent again after a pause, like deliveries",
    "商店限制请求频率：被拒绝的请求在暂停后重新发送，与推送的重试相同",
  ],
  bothInLog: (only) => [
    `${only} for duplicates, and the store's log shows creates of both kinds: name unpaid checkouts of the other kind with --checkout`,
    `重复推送${only}，而商店的日志中两类都有创建：请用 --checkout 指定另一类未支付的收款单`,
  ],
  oneKind: (only) => [
    `${only} for duplicates; if your shop also sells the other kind, name unpaid checkouts of it with --checkout`,
    `重复推送${only}；如果您的商店也销售另一类，请用 --checkout 指定未支付的收款单`,
  ],
} as const satisfies Readonly<Record<string, DrillSentence>>;

/** The items of the lists in the sentences above, and the words that join them. */
export const LIST_ITEMS = {
  paid: ["a payment", "支付"],
  failed: ["a payment that fails", "支付失败"],
  declined: [
    "a payment after a declined attempt (sent twice at once)",
    "一次支付被拒后支付成功（同时推送两次）",
  ],
  expired: ["an order that expires", "订单过期"],
  cancelled: ["an order that is cancelled", "订单取消"],
  orders: (ends) => [`orders: ${ends}`, `订单（${ends}）`],
  sessions: (ends) => [`sessions: ${ends}`, `会话（${ends}）`],
  byPost: ["by POST", "使用 POST"],
  otherWays: ["in other ways", "以其他方式"],
  reloaded: ["for the third time, without a referring page", "第三次返回，并非来自其他页面"],
  pending: ["while the payment was pending", "支付处于 pending 时"],
  otherSession: ["with the session of another, paid order", "使用另一个已支付订单的会话"],
  cancelledOrder: ["from another order, which the payer has cancelled", "从另一个已被付款人取消的订单"],
  withoutSession: ["without a session", "不带会话"],
  fromShop: (query) => [`from your own site, with ${query}`, `从您自己的网站，带 ${query}`],
  withQuery: (query) => [`with ${query}`, `带 ${query}`],
  // Last, because these match the most texts.
  ofBoth: (one, other) => [`${one}; of ${other}`, `${one}；${other}`],
  listed: (first, rest) => [`${first}, ${rest}`, `${first}、${rest}`],
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
