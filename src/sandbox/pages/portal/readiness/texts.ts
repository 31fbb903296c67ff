import type { Texts } from "../../../../web/html.ts";

/** The texts of the launch page in each language. */
export const TEXTS = {
  passed: (count: number, all: number) => [`${count} of ${all} items pass`, `${all} 项中 ${count} 项通过`],
  status: {
    pass: ["pass", "通过"],
    fail: ["fail", "未通过"],
    unknown: ["unknown", "未知"],
  },
  evidence: ["Evidence", "证据"],
  risk: ["Risk:", "风险："],
  next: ["Run", "运行"],
  checklist: ["Checklist", "检查清单"],
  drillKinds: {
    webhook: ["Webhook drill", "Webhook 演练"],
    duplicates: ["Duplicates drill", "重复事件演练"],
    idempotency: ["Idempotency drill", "幂等演练"],
    browser_return: ["Browser return drill", "浏览器返回演练"],
  },
  drillHints: {
    duplicates: [
      "Sends one payment's events more than once, and asks your shop how often it was booked.",
      "多次发送同一笔支付的事件，并查询您的商店入账了几次。",
    ],
    idempotency: [
      "Drops an answer after the commit, and watches whether your client repeats its key.",
      "在提交后丢弃一次响应，观察客户端是否使用相同的键重试。",
    ],
    browser_return: [
      "Sends a browser back without a payment, and asks your shop whether it believed it.",
      "在未支付的情况下让浏览器返回，并查询您的商店是否误认为已支付。",
    ],
  },
  running: ["running", "进行中"],
  since: ["since", "开始于"],
  heldBack: ["The webhooks of this store wait until it ends.", "在演练结束前，此商店的 Webhook 会暂停发送。"],
  dropped: ["The answer of one create is dropped.", "一次创建请求的响应会被丢弃。"],
  seen: ["Creates that it has seen", "已观察到的创建请求"],
  sent: (answered: number, all: number) => [
    `${answered} of ${all} requests were answered`,
    `${all} 个请求中 ${answered} 个已有响应`,
  ],
  retrieved: (count: number) => [
    `Paid checkouts that were retrieved meanwhile: ${count}`,
    `期间查询过的已支付订单：${count}`,
  ],
  noneSeen: ["none yet", "暂无"],
  results: { created: ["created", "已创建"], replayed: ["replayed", "已重放"] },
  answerDropped: ["answer dropped", "响应已丢弃"],
  neverRun: ["never run", "从未运行"],
  drillPassed: ["passed", "通过"],
  drillFailed: ["failed", "未通过"],
  steps: (passed: number, all: number) => [`${passed} of ${all} steps`, `${all} 步中 ${passed} 步通过`],
  failedSteps: (count: number) => [`${count} steps:`, `${count} 步：`],
  alsoFailed: ["Also:", "另有："],
  heldSteps: (count: number) => [`Steps that passed: ${count}`, `已通过的步骤：${count}`],
  step: ["Step", "步骤"],
  expected: ["Expected", "预期"],
  cause: ["Likely cause", "可能原因"],
  ok: ["ok", "通过"],
  notOk: ["failed", "未通过"],
  waived: ["skipped", "已跳过"],
  skippedUntil: ["until", "截止"],
  waive: ["Skip for 7 days", "跳过 7 天"],
  waiveHint: [
    "The checklist passes without this drill, and names a risk.",
    "检查清单将不要求此演练，但会注明风险。",
  ],
  reason: ["Reason", "原因"],
  waiveNow: ["Skip this drill", "跳过此演练"],
  run: ["Run the drill now", "立即运行演练"],
  runHint: (count: number) => [
    `Sends ${count} requests, valid and invalid, to each enabled endpoint, and checks which ones it accepts. No event is written.`,
    `依次向每个启用的接收端发送 ${count} 个有效和无效的请求，检查哪些被接受。不会产生事件。`,
  ],
  orderEvents: [
    "Also send forged events of my newest order (a correct receiver refuses them)",
    "同时发送最新订单的伪造事件（正确的接收端会拒绝）",
  ],
  ran: ["The drill has run", "演练已完成"],
  nothingKnown: (url: string) => [
    `${url}: it could not be reached, so nothing is known about it, and nothing was kept`,
    `${url}：无法连接，因此情况未知，没有保存结果`,
  ],
  needsShell: ["Run it in a terminal", "在终端中运行"],
  notRequested: [
    "Production was not requested yet. A request opens nothing: the administrator decides.",
    "尚未申请生产环境。申请本身不会开放任何权限，由管理员决定。",
  ],
  requested: ["Requested", "申请"],
  withAdministrator: [
    "The request is with the administrator. It cannot be withdrawn; the administrator closes it.",
    "申请正由管理员处理。申请无法撤回，只能由管理员关闭。",
  ],
  nothingLeft: [
    "The gate is open: nothing is left to ask for. None of this affects production.",
    "已开放，无需再申请。以上均不影响真实生产环境。",
  ],
  requestNote: ["Note for the administrator (optional)", "给管理员的备注（可选）"],
  request: ["Request production", "申请生产环境"],
  cameOf: {
    skipped: {
      webhook: ["The webhook drill is skipped for 7 days.", "7 天内不要求 Webhook 演练。"],
      duplicates: ["The duplicates drill is skipped for 7 days.", "7 天内不要求重复事件演练。"],
      idempotency: ["The idempotency drill is skipped for 7 days.", "7 天内不要求幂等演练。"],
      browser_return: ["The browser return drill is skipped for 7 days.", "7 天内不要求浏览器返回演练。"],
    },
    requested: ["Production was requested. The administrator decides.", "已申请生产环境，等待管理员处理。"],
  },
  assumptions: ["Assumptions relied on", "所依赖的假设"],
  assumptionsCount: (count: number) => [
    `Assumptions that this store relies on: ${count}`,
    `此商店所依赖的假设：${count} 项`,
  ],
  assumptionsShort: [
    "Another service may decide these points differently.",
    "其他服务在这些方面可能有不同的选择。",
  ],
  assumptionsHint: [
    "Points that the interface leaves open, the decision of this sandbox, and its first use by this store. Another service may decide otherwise.",
    "接口未规定、在此处作出选择且此商店已依赖的行为：其他服务可能有不同选择。",
  ],
  calibration: ["Calibration", "校准"],
  verdicts: {
    confirmed: ["confirmed", "相符"],
    contradicted: ["contradicted", "不符"],
    not_observed: ["not observed", "未观察到"],
  },
  calibratedWith: (service: string) => [`Calibrated with ${service}`, `已对照 ${service} 校准`],
  verdictCounts: ([confirmed, contradicted, unobserved]: readonly [number, number, number]) => [
    `${confirmed} confirmed, ${contradicted} contradicted, ${unobserved} not observed`,
    `${confirmed} 项相符，${contradicted} 项不符，${unobserved} 项未观察到`,
  ],
  noAssumptions: [
    "Points that your integration relies on, and that the interface does not state, will be listed here.",
    "您的集成所依赖、而接口未规定的行为将显示在此处。",
  ],
  chosen: ["Here", "此处的选择"],
  first: ["First time", "首次"],
  shownBy: ["By", "依据"],
} satisfies Texts;
