import type { Texts } from "../../../../web/html.ts";

export const LAUNCH_TEXTS = {
  passed: (count: number, all: number) => [`${count} of ${all} items pass`, `${all} 项中 ${count} 项通过`],
  status: {
    pass: ["pass", "通过"],
    fail: ["fail", "未通过"],
    unknown: ["unknown", "未知"],
  },
  evidence: (count: number) => [`Evidence (${count})`, `证据（${count}）`],
  risk: ["Risk:", "风险："],
  next: ["Run", "运行"],
  checklist: ["Checklist", "检查清单"],
  places: ["Places and their faults", "位置与故障"],
  place: ["Place", "位置"],
  held: ["Held", "通过"],
  broke: ["Broken", "出错"],
  notJudged: ["Not judged", "未判定"],
  drillKinds: {
    webhook: ["Webhook drill", "Webhook 演练"],
    duplicates: ["Duplicates drill", "重复推送演练"],
    idempotency: ["Idempotency drill", "幂等演练"],
    browser_return: ["Browser return drill", "浏览器返回演练"],
  },
  drillHints: {
    webhook: [
      "Sends valid and invalid requests to each enabled endpoint, and checks which requests the endpoint accepts. No event is written.",
      "向每个启用的接收端发送有效和无效的请求，检查接收端接受哪些请求。不会产生事件。",
    ],
    duplicates: [
      "Sends the events of one payment more than once, and checks how often your shop booked the payment.",
      "多次发送同一笔支付的事件，并检查您的商店入账了几次。",
    ],
    idempotency: [
      "Runs your client, loses the answer to its create, and checks whether the client retries with the same key.",
      "运行您的客户端，丢弃其创建请求的响应，并检查客户端是否使用相同的幂等键重试。",
    ],
    browser_return: [
      "Opens the return page of an unpaid order, and checks whether your shop then shows the order as paid.",
      "在订单未支付时打开返回页面，并检查您的商店是否误将订单显示为已支付。",
    ],
  },
  running: ["running", "进行中"],
  heldBack: [
    "The webhooks of this store are held until the drill ends.",
    "在演练结束前，此商店的 Webhook 会暂停发送。",
  ],
  retrieved: (count: number) => [
    `Paid checkouts that were retrieved during the drill: ${count}`,
    `演练期间查询过的已支付收款单：${count}`,
  ],
  neverRun: ["never run", "从未运行"],
  drillPassed: ["passed", "通过"],
  drillFailed: ["failed", "未通过"],
  steps: (count: number, all: number) => [`${count} of ${all} steps`, `${all} 步中 ${count} 步通过`],
  failedSteps: (count: number) => [`${count} steps:`, `${count} 步：`],
  alsoFailed: ["Also:", "另有："],
  heldSteps: (count: number) => [`Steps that passed: ${count}`, `已通过的步骤：${count}`],
  step: ["Step", "步骤"],
  expected: ["Expected", "预期"],
  ok: ["ok", "通过"],
  waived: ["skipped", "已跳过"],
  skippedUntil: ["until", "截止"],
  waive: ["Skip for 7 days", "跳过 7 天"],
  waiveHint: [
    "The checklist can pass without this drill, and then shows a risk.",
    "检查清单将不要求此演练，但会注明风险。",
  ],
  reason: ["Reason", "原因"],
  waiveNow: ["Skip this drill", "跳过此演练"],
  needsShell: ["Run it in a terminal", "在终端中运行"],
  notRequested: [
    "Production access has not been requested yet. A request does not open the gate: the administrator decides.",
    "尚未申请生产环境。申请本身不会开放生产环境，由管理员决定。",
  ],
  requested: ["Requested", "申请于"],
  withAdministrator: [
    "The administrator has the request. It cannot be withdrawn; only the administrator can close it.",
    "申请正由管理员处理。申请无法撤回，只能由管理员关闭。",
  ],
  nothingLeft: [
    "The gate is open, so there is nothing to request. None of this affects production.",
    "生产环境已开放，无需再申请。此处的操作均不影响真实生产环境。",
  ],
  requestNote: ["Note for the administrator (optional)", "给管理员的备注（可选）"],
  request: ["Request production access", "申请生产环境"],
  notices: {
    skipped: {
      webhook: ["The webhook drill is skipped for 7 days.", "7 天内不要求 Webhook 演练。"],
      duplicates: ["The duplicates drill is skipped for 7 days.", "7 天内不要求重复推送演练。"],
      idempotency: ["The idempotency drill is skipped for 7 days.", "7 天内不要求幂等演练。"],
      browser_return: ["The browser return drill is skipped for 7 days.", "7 天内不要求浏览器返回演练。"],
    },
    requested: ["Production access requested; the administrator decides.", "已申请生产环境，由管理员决定。"],
  },
  assumptions: ["Assumptions relied on", "所依赖的假设"],
  assumptionsCount: (count: number) => [
    `Assumptions that this store relies on: ${count}`,
    `此商店所依赖的假设：${count} 项`,
  ],
  assumptionsShort: [
    "Another service may decide these points differently.",
    "其他服务在这些方面可能有不同的约定。",
  ],
  assumptionsHint: [
    "Points that the interface leaves open, with the decision of this sandbox and the first use by this store. Another service may decide otherwise.",
    "接口未规定的行为、本沙箱的约定，以及此商店首次依赖该约定的时间。其他服务可能有不同的约定。",
  ],
  calibration: ["Calibration", "校准"],
  verdicts: {
    confirmed: ["confirmed", "相符"],
    contradicted: ["contradicted", "不符"],
    not_observed: ["not observed", "未观察到"],
  },
  calibratedWith: (service: string) => [`Calibrated with ${service}`, `已对照 ${service} 校准`],
  verdictCounts: ([confirmed, contradictedCount, unobservedCount]: readonly [number, number, number]) => [
    `${confirmed} confirmed, ${contradictedCount} contradicted, ${unobservedCount} not observed`,
    `${confirmed} 项相符，${contradictedCount} 项不符，${unobservedCount} 项未观察到`,
  ],
  noAssumptions: [
    "Points that the interface leaves open, and on which your integration relies, will be listed here.",
    "您的集成所依赖、而接口未规定的行为将显示在此处。",
  ],
  chosen: ["Decision here", "本沙箱约定"],
  inEffect: ["Names used in this store", "本商店使用的名称"],
  asChosen: ["as decided", "与约定一致"],
  first: ["First use", "首次使用"],
  shownBy: ["Evidence", "依据"],
} satisfies Texts;
