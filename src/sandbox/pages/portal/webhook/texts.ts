import type { ForgeryAction } from "../../../../core/fault/actions.ts";
import type { Texts } from "../../../../web/html.ts";
import type { Words } from "../../../../core/language.ts";

export const WEBHOOK_TEXTS = {
  answerPart: ["Answer (first 4 KiB)", "响应（前 4 KiB）"],
  noBody: ["The answer had no body.", "响应体为空。"],
  otherBody: [
    "The bytes that were sent differ from the current event. Only their SHA-256 is stored.",
    "当时发送的字节与该事件现在的内容不同，且只保留了当时字节的 SHA-256。",
  ],
  to: ["Sent to", "发送至"],
  underWay: ["in progress", "进行中"],
  signature: ["Signature", "签名"],
  signedBy: {
    store: ["Signed with the store’s signing secret.", "使用商店的签名密钥签名。"],
    endpoint: ["Signed with the endpoint’s own signing secret.", "使用该接收端自己的签名密钥签名。"],
  },
  signedByBoth: (count: number) => [
    `Signed with ${count} of the endpoint’s own secrets, newest first: its secret was rotated, and the old secret is still valid.`,
    `使用该接收端自己的 ${count} 个密钥签名，新的在前：密钥已轮换，旧密钥目前仍有效。`,
  ],
  verifies: ["The signature is valid.", "签名验证通过。"],
  verifiesNot: (reason: string) => [`The signature is not valid: ${reason}.`, `签名验证不通过：${reason}。`],
  signingUnknown: {
    rotated: [
      "The endpoint’s secret was rotated at exactly this time of the store’s clock, so it is unknown which secret signed the delivery. The signature is not stored, and cannot be shown.",
      "接收端的密钥恰在商店时钟的这一刻轮换，无法判断推送由哪个密钥签名。签名没有保存，因此无法显示。",
    ],
    unlike: [
      "The current event does not match the audit record of the attempt, so the signature cannot be computed again. The signature is not stored, and cannot be shown.",
      "当前事件与该次尝试的审计记录不符，无法重新计算签名。签名没有保存，因此无法显示。",
    ],
  },
  verifyCommand: ["Verify in a terminal", "在终端中验证"],
  next: ["Next", "接下来"],
  nextAttempt: ["next attempt at", "下次尝试时间："],
  noNext: ["No further attempt.", "不再尝试。"],
  tabDeliveries: ["Endpoints and deliveries", "接收端与推送"],
  tabEvents: ["Events", "事件"],
  faults: ["Inject faults", "注入故障"],
  lastDay: ["Last 24 hours", "最近 24 小时"],
  lastHour: ["Last hour", "最近 1 小时"],
  lastWeek: ["Last 7 days", "最近 7 天"],
  nextAttemptColumn: ["Next attempt", "下次尝试"],
  healthHint: [
    "Answers in the last 24 hours by the store’s clock, from the newest 100 deliveries in each state.",
    "按商店时钟统计最近 24 小时的响应，每种状态取最新的 100 次推送。",
  ],
  quiet: ["nothing sent", "没有推送"],
  nothingDue: ["nothing due", "无待发送"],
  untilEnabled: ["when enabled", "启用后发送"],
  dueCount: (count: string) => [`${count} due`, `${count} 个待发送`],
  pausedBy: {
    drill: ["by a drill", "由演练暂停"],
    listener: ["its listener went away", "监听程序已断开"],
    request: ["by request", "手动暂停"],
  },
  failing: ["failing", "推送异常"],
  failingSince: ["failing since", "持续失败，开始于"],
  endpointStates: {
    enabled: ["enabled", "已启用"],
    paused: ["paused", "已暂停"],
    disabled: ["disabled", "已停用"],
  },
  noEndpoints: [
    "Your endpoints will appear here, each with its answers in the last 24 hours. A running checkout listen is also an endpoint.",
    "您的接收端将显示在此处，并附上最近 24 小时的响应。运行中的 checkout listen 也是接收端。",
  ],
  address: ["URL of your receiver", "接收端的地址"],
  typesHint: ["Event types (default: all)", "事件类型；不选则接收全部"],
  inOrder: ["One delivery at a time", "逐个推送"],
  ca: ["CA certificates in PEM, for https", "CA 证书（PEM 格式，用于 https）"],
  add: ["Add the endpoint", "添加接收端"],
  olderSecret: ["The previous secret, which is still valid", "之前的密钥，目前仍有效"],
  shownOnce: [
    "Configure your receiver with this secret. A reload hides the secret; the button below shows it again.",
    "请用此密钥配置接收端。重新加载页面后不再显示；可用下方的按钮再次查看。",
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
    event: ["event", "由事件产生"],
    replay: ["replay", "重新推送"],
    duplicate: ["duplicated by a fault", "故障造成的重复"],
  },
  noDeliveries: [
    "Each delivery of an event to an endpoint will appear here, with the endpoint’s last answer.",
    "向接收端推送事件的记录将显示在此处，并附上最后的响应。",
  ],
  replayFailed: ["Replay failed deliveries", "对失败的推送重新推送"],
  replayFailedAsk: [
    "Each event whose last delivery to an endpoint failed is delivered to that endpoint again, with the same event_id and bytes and a new signature; deliveries that wait after a failed attempt are sent now. At most 1000 events are replayed at once.",
    "对每个接收端，最近一次推送失败的事件都会重新推送：event_id 和请求体不变，签名重新生成；失败后等待重试的推送会立即发送。每次最多重新推送 1000 个事件。",
  ],
  madeSince: ["Deliveries created in this period", "产生于此时间段的推送"],
  replayFailedSure: ["Replay these events", "重新推送"],
  nothingFailed: ["No delivery has failed since then.", "此后没有失败的推送。"],
  replayedCount: (count: string) => [
    count.endsWith("+")
      ? `Deliveries that are now sent: ${count.slice(0, -1)}. More have failed: use the same button again.`
      : `Deliveries that are now sent: ${count}.`,
    count.endsWith("+")
      ? `现在发送的推送：${count.slice(0, -1)} 个。还有更多失败的推送：再次点击即可继续。`
      : `现在发送的推送：${count} 个。`,
  ],
  retry: ["Send waiting deliveries now", "立即发送等待中的推送"],
  concurrency: ["Concurrent deliveries", "并发推送"],
  oneByOne: ["one at a time", "逐个推送"],
  severalAtOnce: ["several, one at a time for each order", "可同时推送多个，同一订单逐个推送"],
  added: ["Added", "添加于"],
  filterThese: ["Filter these deliveries", "筛选这些推送"],
  test: ["Send a test event", "发送测试事件"],
  showSecret: ["Show the signing secret", "显示签名密钥"],
  enable: ["Enable", "启用"],
  pause: ["Pause", "暂停"],
  rotate: ["Rotate the secret", "轮换密钥"],
  rotateAsk: [
    "The endpoint gets a new signing secret. Until the overlap ends, the old secret also signs.",
    "接收端将获得新的签名密钥。在新旧密钥的并存期结束前，仍会同时用旧密钥签名。",
  ],
  rotateSure: ["Create a new secret", "生成新密钥"],
  overlap: ["Keep the old secret valid for", "旧密钥的有效期"],
  oneDay: ["24 hours", "24 小时"],
  oneHour: ["1 hour", "1 小时"],
  oneWeek: ["7 days", "7 天"],
  atOnce: ["not at all", "立即失效"],
  disable: ["Disable", "停用"],
  disableAsk: [
    "Events that happen while the endpoint is disabled are not delivered later. You can enable it again.",
    "停用期间发生的事件之后不会补发。可以重新启用。",
  ],
  disableSure: ["Disable the endpoint", "停用该接收端"],
  removeAsk: [
    "The endpoint is removed, and its queued deliveries are dropped. Its past deliveries stay listed.",
    "接收端将被移除，排队中的推送会被丢弃。以往的推送仍会列出。",
  ],
  removeSure: ["Remove the endpoint", "移除该接收端"],
  removed: ["removed", "已移除"],
  deliveryTitle: (type: string) => [`Delivery of ${type}`, `${type} 的推送`],
  tryNumber: (number: number) => [`Attempt ${number}`, `第 ${number} 次尝试`],
  details: ["Request and answer", "请求与响应"],
  causeOf: ["Cause", "产生方式"],
  replay: ["Replay", "重新推送"],
  nextOf: {
    succeeded: ["Nothing: the delivery was accepted.", "无需处理。"],
    failed: [
      "No further attempt: the delivery was given up. Replay delivers the same event again.",
      "已放弃，不再尝试。重新推送会再次发送同一事件。",
    ],
    dropped: ["Nothing: the delivery was dropped.", "已丢弃，不会推送。"],
  },
  replayTo: ["Replay to", "重新推送至"],
  waitsForEarlier: [
    "(or after the earlier events of its order are accepted or given up)",
    "（或等同一订单较早的事件被接收或放弃之后）",
  ],
  waitsForEndpoint: ["(waits: nothing is sent to its endpoint now)", "（等待中：目前不向接收端推送）"],
  noEvents: [
    "Each change of an order will appear here as an event, with the event’s exact bytes.",
    "订单的每次变化都会产生一个事件，显示在此处，并附上原始字节。",
  ],
  newestEvents: ["Newest events", "最新事件"],
  sequence: ["Sequence", "序号"],
  ofNoOrder: ["no order", "不属于任何订单"],
  samples: ["Sample bodies", "示例请求体"],
  samplesHint: [
    "One body of each type, for an order that does not exist. checkout trigger creates a real event.",
    "每种类型一份，以一个不存在的订单为例。checkout trigger 可产生真实事件。",
  ],
  noSubscribers: [
    "No endpoint subscribed to this type when the event happened. Deliveries of the event will appear here.",
    "事件发生时没有接收端订阅此类型。该事件的推送将显示在此处。",
  ],
  noEndpointAtEvent: [
    "No endpoint was registered when the event happened. Add an endpoint; you can then deliver the event to it from this page.",
    "事件发生时没有登记接收端。请添加一个，之后即可在此页向它推送该事件。",
  ],
  lastSent: ["The newest delivery, as it was sent", "最近一次推送的实际内容"],
  notices: {
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
        `The replay has been waiting since ${at}, because nothing is delivered to the endpoint now.`,
        `自 ${at} 起等待重新推送，因为目前不向接收端推送。`,
      ],
      tested: (at: string) => [
        `webhook.test has been waiting since ${at}, because nothing is delivered to the endpoint now.`,
        `webhook.test 自 ${at} 起等待，因为目前不向接收端推送。`,
      ],
      added: (at: string) => [
        `The endpoint was added. webhook.test has been waiting since ${at}, because nothing is delivered to it now.`,
        `已添加接收端；webhook.test 自 ${at} 起等待，因为目前不向接收端推送。`,
      ],
    },
    noAnswerYet: ["no answer yet", "尚无响应"],
    paused: [
      "The endpoint is paused: its deliveries wait until it is enabled.",
      "接收端已暂停，推送将在启用后发送。",
    ],
    enabled: (waitingCount: number) => [
      waitingCount === 0
        ? "The endpoint is enabled. No deliveries were waiting."
        : `The endpoint is enabled. Waiting deliveries that are now sent: ${waitingCount}.`,
      waitingCount === 0
        ? "接收端已启用。没有等待中的推送。"
        : `接收端已启用。现在发送等待中的推送：${waitingCount} 个。`,
    ],
    retried: (count: number, hasMore: boolean) => {
      if (count === 0)
        return ["No delivery is waiting for an enabled endpoint.", "启用的接收端没有等待中的推送。"];
      return [
        `Waiting deliveries that are now sent: ${count}.${hasMore ? " More wait: use the same button again." : ""}`,
        `现在发送等待中的推送：${count} 个。${hasMore ? "还有更多：再次点击即可继续。" : ""}`,
      ];
    },
    disabled: ["The endpoint is disabled: nothing is delivered to it.", "接收端已停用，不再向其推送。"],
    removed: (url: string) => [`The endpoint ${url} was removed.`, `已移除接收端 ${url}。`],
  },
  allSubscribers: ["all endpoints that subscribe to this type", "订阅此类型的所有接收端"],
} satisfies Texts;

export const FAULT_SIGNATURES: Readonly<Record<ForgeryAction, Words>> = {
  bad_signature: [
    "An injected fault signed the delivery with a secret that never existed.",
    "注入的故障用一个不存在的密钥签了名。",
  ],
  old_secret: [
    "An injected fault signed the delivery with a secret that is no longer valid.",
    "注入的故障用一个已失效的密钥签了名。",
  ],
  changed_body: ["An injected fault changed the body after signing.", "注入的故障在签名后改动了请求体。"],
  stale: [
    "An injected fault signed the delivery with a timestamp that is an hour old.",
    "注入的故障使用了一小时前的时间戳签名。",
  ],
};
