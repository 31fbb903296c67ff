import type { FaultAction } from "../../../../core/fault/actions.ts";
import type { Texts } from "../../../../web/html.ts";
import type { Words } from "../../../../core/language.ts";

/** The texts of endpoints, events and deliveries in each language. */
export const TEXTS = {
  answerPart: ["Answer, its first 4 KiB", "响应（前 4 KiB）"],
  noBody: ["The answer had no body.", "响应没有正文。"],
  otherBody: [
    "The bytes that were sent differ from the event as it is now. They are not kept, only their SHA-256.",
    "当时发送的字节与该事件现在的内容不同：原始字节未保留，只保留了其 SHA-256。",
  ],
  to: ["Sent to", "发送至"],
  took: (milliseconds: number) => [`${milliseconds} ms`, `${milliseconds} 毫秒`],
  underWay: ["under way", "进行中"],
  signature: ["Signature", "签名"],
  signedBy: {
    store: ["Signed with the store’s signing secret.", "使用商店的签名密钥签名。"],
    endpoint: ["Signed with the endpoint’s own signing secret.", "使用该接收端自己的签名密钥签名。"],
  },
  signedByBoth: (count: number) => [
    `Signed with ${count} of the endpoint’s own secrets, newest first: its secret was rotated, and the old one is valid meanwhile.`,
    `使用该接收端自己的 ${count} 个密钥签名，新的在前：密钥已轮换，旧密钥此间仍有效。`,
  ],
  verifies: ["The signature verifies.", "签名验证通过。"],
  verifiesNot: (why: string) => [`It does not verify: ${why}.`, `签名验证不通过：${why}。`],
  signingUnknown: {
    rotated: [
      "The endpoint’s secret was rotated at this very moment of the store’s clock, so nobody can tell which secret signed it: the signature is not kept, and not shown.",
      "就在商店时钟的这一刻，接收端的密钥被轮换，无法判断是哪个密钥签的名：签名未保留，因此不显示。",
    ],
    unlike: [
      "What would be sent now is not what the audit says was sent, so the signature cannot be made again: it is not kept, and not shown.",
      "现在会发送的内容与审计记录不同，无法重新生成签名：签名未保留，因此不显示。",
    ],
  },
  checkIt: ["Check it in a terminal", "在终端中验证"],
  cause: ["Likely cause", "可能的原因"],
  next: ["Next", "接下来"],
  nextAttempt: ["the next attempt is due at", "下次尝试时间："],
  noNext: ["No attempt follows.", "不再尝试。"],
  tabDeliveries: ["Endpoints and deliveries", "接收端与推送"],
  tabEvents: ["Events and bodies", "事件与内容"],
  faults: ["Inject faults", "注入故障"],
  endpoints: ["Endpoints", "接收端"],
  endpoint: ["Endpoint", "接收端"],
  lastDay: ["Last 24 hours", "最近 24 小时"],
  lastHour: ["Last hour", "最近 1 小时"],
  lastWeek: ["Last 7 days", "最近 7 天"],
  nextAttemptColumn: ["Next attempt", "下次尝试"],
  healthHint: [
    "Answers of the last 24 hours by the store’s clock, of the newest 100 deliveries in each state.",
    "按商店时钟统计最近 24 小时的响应，每种状态取最新的 100 次推送。",
  ],
  quiet: ["nothing sent", "没有发送"],
  nothingDue: ["nothing is due", "没有待发送"],
  untilEnabled: ["waits until it is enabled", "启用后发送"],
  dueCount: (count: string) => [`${count} due`, `${count} 个待发送`],
  pausedBy: {
    drill: ["by a drill", "由演练暂停"],
    listener: ["its listener went away", "监听程序已离开"],
    request: ["by request", "手动暂停"],
  },
  failing: ["failing", "失败中"],
  since: ["since", "开始于"],
  failingSince: ["failing since", "持续失败，开始于"],
  endpointStates: {
    enabled: ["enabled", "已启用"],
    paused: ["paused", "已暂停"],
    disabled: ["disabled", "已停用"],
  },
  noEndpoints: [
    "Your endpoints will appear here, each with its answers of the last day. A running checkout listen is also an endpoint.",
    "您的接收端会显示在这里，并附上最近一天的响应。checkout listen 运行时也是一个接收端。",
  ],
  addEndpoint: ["Add an endpoint", "添加接收端"],
  address: ["Address of your receiver", "接收端的地址"],
  typesHint: ["Event types; if none is selected, the endpoint gets all of them", "事件类型；不选则接收全部"],
  inOrder: ["One delivery at a time", "一次只推送一个"],
  add: ["Add the endpoint", "添加接收端"],
  olderSecret: ["The one before, which is valid meanwhile", "之前的密钥，此间仍有效"],
  shownOnce: [
    "It is shown this once. Give it to your receiver now; the button below shows it again.",
    "仅显示这一次，请现在交给接收端；用下方的按钮可再次查看。",
  ],
  deliveries: ["Deliveries", "推送"],
  states: {
    due: ["due", "待发送"],
    succeeded: ["succeeded", "成功"],
    failed: ["failed", "失败"],
    dropped: ["dropped", "已丢弃"],
  },
  allTypes: ["all event types", "全部事件类型"],
  eventTypes: ["Event types", "事件类型"],
  tries: ["Attempts", "尝试"],
  notTried: ["not sent yet", "尚未发送"],
  causes: {
    event: ["by the event", "由事件产生"],
    replay: ["replayed", "重新推送"],
    duplicate: ["doubled by a fault", "故障造成的重复"],
  },
  noDeliveries: [
    "Each delivery of an event to an endpoint will appear here, with its last answer.",
    "事件向接收端的每次推送都会显示在这里，并附上最后的响应。",
  ],
  noMatch: ["No delivery matches these filters.", "没有符合筛选条件的推送。"],
  replayFailed: ["Replay all that failed", "重新推送所有失败的事件"],
  replayFailedAsk: [
    "Each event whose last delivery to an endpoint failed is delivered there again: the same event_id and bytes, a new signature. At most 1000 at once.",
    "凡最后一次推送到某接收端失败的事件，都会再次推送到该接收端：event_id 与内容不变，签名更新。每次最多 1000 个。",
  ],
  madeSince: ["Deliveries made in the", "推送产生于"],
  replayFailedSure: ["Deliver them again", "重新推送"],
  nothingFailed: ["Nothing has failed since then.", "此后没有失败的推送。"],
  replayedCount: (count: string) => [
    count.endsWith("+")
      ? `${count.slice(0, -1)} events are delivered again. More have failed: the same button goes on.`
      : `${count} events are delivered again.`,
    count.endsWith("+")
      ? `正在重新推送 ${count.slice(0, -1)} 个事件。还有更多失败的事件：再次点击即可继续。`
      : `正在重新推送 ${count} 个事件。`,
  ],
  howMany: ["At once", "同时推送"],
  oneByOne: ["one delivery at a time", "一次一个"],
  severalAtOnce: ["several deliveries, one at a time for each order", "可同时多个，同一订单按顺序"],
  added: ["Added", "添加于"],
  filterThese: ["Filter these deliveries", "筛选这些推送"],
  test: ["Send a test event", "发送测试事件"],
  showSecret: ["Show the signing secret", "显示签名密钥"],
  enable: ["Enable", "启用"],
  pause: ["Pause", "暂停"],
  rotate: ["Rotate the secret", "轮换密钥"],
  rotateAsk: [
    "The endpoint gets a new signing secret. Until the overlap ends the old one signs too.",
    "接收端将获得新的签名密钥。在重叠期结束前，旧密钥也会签名。",
  ],
  rotateSure: ["Make a new secret", "生成新密钥"],
  overlap: ["The old one is valid for", "旧密钥的有效期"],
  oneDay: ["24 hours", "24 小时"],
  oneHour: ["1 hour", "1 小时"],
  oneWeek: ["7 days", "7 天"],
  atOnce: ["no longer", "立即失效"],
  disable: ["Disable", "停用"],
  disableAsk: [
    "Events that happen meanwhile are not delivered later. It can be enabled again.",
    "停用期间发生的事件之后不会补发。可以重新启用。",
  ],
  disableSure: ["Disable the endpoint", "停用该接收端"],
  removeAsk: [
    "The endpoint is gone, and what is queued for it is not delivered. Its past deliveries stay listed.",
    "接收端将被移除，排队中的事件不再推送。以往的推送仍会列出。",
  ],
  removeSure: ["Remove the endpoint", "移除该接收端"],
  removed: ["it was removed", "已移除"],
  deliveryTitle: (type: string) => [`Delivery of ${type}`, `${type} 的推送`],
  tryNumber: (number: number) => [`Attempt ${number}`, `第 ${number} 次尝试`],
  details: ["What was sent and answered", "发送与响应的内容"],
  causeOf: ["Cause", "产生方式"],
  replay: ["Replay", "重新推送"],
  nextOf: {
    succeeded: ["Nothing: it was taken.", "无需处理。"],
    failed: [
      "Nothing: it is given up. Replay delivers the same event again.",
      "无：已放弃。重新推送会再次发送同一事件。",
    ],
    dropped: ["Nothing: it is not delivered.", "无：不会推送。"],
  },
  replayTo: ["Deliver it again to", "再次推送至"],
  waitsForEarlier: [
    "(or when the earlier events of its order are taken or given up)",
    "（或在同一订单较早的事件被接收或放弃之后）",
  ],
  waitsForEndpoint: ["(its endpoint is not enabled: it waits)", "（接收端未启用：等待中）"],
  noEvents: [
    "Each change of an order will appear here as an event, with its exact bytes.",
    "订单的每次变化都会作为事件显示在这里，并附上原始字节。",
  ],
  newestEvents: ["Newest events", "最新事件"],
  sequence: ["Sequence", "序号"],
  ofNoOrder: ["no order", "不属于任何订单"],
  samples: ["What each type carries", "各类型的内容"],
  samplesHint: [
    "Sample bodies for an order that does not exist. checkout trigger makes a real one.",
    "以一个并不存在的订单为例。checkout trigger 可产生真实事件。",
  ],
  exactBody: ["Body", "内容"],
  nobodyWanted: [
    "No endpoint received this type when the event happened. Deliveries of the event will appear here.",
    "事件发生时没有接收端需要它。它的推送会显示在这里。",
  ],
  noEndpointWanted: [
    "No endpoint was registered when it happened. Add one: this page then delivers the event to it.",
    "事件发生时没有登记接收端。请添加一个：之后即可在此页向它推送该事件。",
  ],
  lastSent: ["The newest delivery, as it was sent", "最近一次推送的实际内容"],
  /** The beginning of each action's notice, before the result. */
  cameOf: {
    done: {
      replayed: (at: string) => [`Delivered again at ${at}: `, `已于 ${at} 重新推送：`],
      tested: (at: string) => [`webhook.test was sent at ${at}: `, `已于 ${at} 发送 webhook.test：`],
      added: (at: string) => [
        `The endpoint was added, and webhook.test was sent to it at ${at}: `,
        `已添加接收端，并于 ${at} 向其发送 webhook.test：`,
      ],
    },
    waits: {
      replayed: (at: string) => [
        `To be delivered again since ${at}: nothing is sent while the endpoint is not enabled.`,
        `自 ${at} 起等待重新推送：接收端未启用，暂不发送。`,
      ],
      tested: (at: string) => [
        `webhook.test waits since ${at}: nothing is sent while the endpoint is not enabled.`,
        `webhook.test 自 ${at} 起等待：接收端未启用，暂不发送。`,
      ],
      added: (at: string) => [
        `The endpoint was added; webhook.test waits since ${at}, because nothing is delivered now.`,
        `已添加接收端；webhook.test 自 ${at} 起等待，因为目前不推送任何内容。`,
      ],
    },
    noAnswerYet: ["no answer yet", "尚无响应"],
    paused: [
      "The endpoint is paused: its deliveries wait until it is enabled.",
      "接收端已暂停：推送等到启用后再发送。",
    ],
    enabled: (waiting: number) => [
      waiting === 0
        ? "The endpoint is enabled. No delivery has waited for it."
        : `The endpoint is enabled. Deliveries that have waited and are sent now: ${waiting}.`,
      waiting === 0
        ? "接收端已启用。没有等待中的推送。"
        : `接收端已启用。现在发送等待中的推送：${waiting} 个。`,
    ],
    disabled: ["The endpoint is disabled: nothing is delivered to it.", "接收端已停用：不再向其推送。"],
    removed: (url: string) => [`The endpoint ${url} is removed.`, `已移除接收端 ${url}。`],
  },
  allWanting: ["all endpoints that want it", "所有需要它的接收端"],
} satisfies Texts;

/** The signature of each delivery fault. */
export const FAULT_SIGNED: Readonly<Partial<Record<FaultAction, Words>>> = {
  bad_signature: [
    "The injected fault signed it with a secret that never existed.",
    "注入的故障用一个从未存在过的密钥签了名。",
  ],
  old_secret: [
    "The injected fault signed it with a secret that is not valid any more.",
    "注入的故障用一个已失效的密钥签了名。",
  ],
  changed_body: [
    "The injected fault changed the body after it was signed.",
    "注入的故障在签名之后改动了正文。",
  ],
  stale: [
    "The injected fault signed it with a timestamp that is an hour old.",
    "注入的故障使用了一小时前的时间戳签名。",
  ],
};
