import type { Texts } from "../../../../web/html.ts";

/** The texts of the page about connecting an application. */
export const CONNECT_TEXTS = {
  access: ["What your application needs", "您的应用需要的信息"],
  baseUrl: ["Base URL", "基础 URL"],
  apiKey: ["API key", "API 密钥"],
  noKey: ["no active key", "没有有效的密钥"],
  makeKey: ["Create a key", "生成新密钥"],
  showSecret: ["Reveal", "显示"],
  newKey: ["The new API key, shown once", "新的 API 密钥（仅显示一次）"],
  newKeyHint: [
    "Copy it now: it is not stored, and is not shown again after a reload.",
    "请立即复制：系统不保存明文，重新加载页面后将不再显示。",
  ],
  secret: ["The signing secret of this store", "此商店的签名密钥"],
  secretHint: ["It is not shown again after a reload.", "重新加载页面后将不再显示。"],
  variables: ["Environment variables", "环境变量"],
  variablesHint: [
    "In the project folder, the command line finds all of this itself. A key is shown only when it is created.",
    "在项目文件夹中，命令行会自动找到这些信息。密钥只在生成时显示。",
  ],
  code: ["In your language", "代码示例"],
  languages: ["Languages", "语言"],
  create: ["Create an order", "创建订单"],
  verify: ["Verify a webhook", "验证 Webhook"],
  steps: ["First steps", "首次接入"],
  done: ["done", "已完成"],
  notDone: ["not done yet", "未完成"],
  ordered: ["The first order is created", "创建第一个订单"],
  paid: ["The first payment succeeds", "第一笔支付成功"],
  delivered: ["The first webhook reaches a receiver", "第一个 Webhook 到达接收端"],
  verified: ["The first webhook is accepted with a 2xx", "第一个 Webhook 收到 2xx 响应"],
  checked: ["The first drill of the launch checklist has run", "完成第一次上线检查演练"],
} satisfies Texts;

/** The texts of the prices of a store. */
export const CATALOG_TEXTS = {
  none: ["The prices that orders can use will appear here.", "订单可按 ID 引用的价格将显示在此处。"],
  idHint: (most: number) => [`1 to ${most} characters, such as oolong`, `1 至 ${most} 个字符，例如 oolong`],
  description: ["Description", "描述"],
  lacks: (names: string) => [`not accepted by the store: ${names}`, `商店不支持 ${names}`],
  retire: ["Retire", "停用"],
  retireNow: ["Retire this price", "停用此价格"],
  retireQuestion: (id: string) => [
    `New orders cannot use ${id}, and its id cannot be used again. Existing orders stay.`,
    `新订单将不能再使用 ${id}，该 ID 也不会再被使用。已有订单不受影响。`,
  ],
  add: ["Add a price", "添加价格"],
  addNow: ["Add the price", "添加"],
  amountMinor: ["Amount in minor units", "金额（最小货币单位）"],
  amountHint: ["1999 is 19.99 EUR; 1200 is 1200 JPY", "1999 即 19.99 EUR；1200 即 1200 JPY"],
  currency: ["Currency", "货币"],
  currencyHint: ["three letters, such as EUR", "三个字母，例如 EUR"],
  optional: ["optional", "可选"],
  approvedNow: ["Approved immediately (otherwise by the administrator)", "立即批准（否则由管理员批准）"],
} satisfies Texts;

/** The texts of the API keys of a store. */
export const KEYS_TEXTS = {
  none: ["The API keys of this store will appear here.", "此商店的 API 密钥将显示在此处。"],
  key: ["Key", "密钥"],
  scopes: ["Scopes", "权限"],
  inForce: ["active", "有效"],
  revoked: ["revoked", "已吊销"],
  revoke: ["Revoke", "吊销"],
  revokeNow: ["Revoke this key", "吊销此密钥"],
  revokeQuestion: (lastFour: string) => [
    `Every request with the key …${lastFour} is refused from now on. This cannot be undone.`,
    `此后使用密钥 …${lastFour} 的所有请求都会被拒绝。此操作无法撤销。`,
  ],
  revokeLast: [
    "This is the last active key: without a key, nothing can be created.",
    "这是最后一个有效密钥：吊销后将无法创建任何订单。",
  ],
  create: ["Create a key", "生成密钥"],
  createNow: ["Create the key", "生成"],
  createHint: [
    "A key is shown once, on the next page. The service stores only its hash.",
    "密钥只在下一页显示一次。服务端仅保存其哈希值。",
  ],
} satisfies Texts;

/** The texts of the settings of a store. */
export const SETTINGS_TEXTS = {
  merchantId: ["Merchant ID", "商户 ID"],
  namesHint: [
    "To change the names, use checkout.config.json and checkout config apply.",
    "名称通过 checkout.config.json 和 checkout config apply 修改。",
  ],
  origins: ["Return origins", "返回地址"],
  originsHint: [
    "Customers are redirected only to these origins, each at its path.",
    "顾客只会被送回这些地址及其路径。",
  ],
  noOrigins: [
    "The origins to which customers can return will appear here.",
    "允许顾客返回的地址将显示在此处。",
  ],
  origin: ["Origin", "地址"],
  pathHint: ["optional; default: /", "可选；默认为 /"],
  add: ["Add the origin", "添加"],
  removeNow: ["Remove this origin", "移除此地址"],
  removeQuestion: (origin: string) => [
    `Customers are no longer redirected to ${origin}.`,
    `顾客将不再被送回 ${origin}。`,
  ],
  methods: ["Payment methods", "支付方式"],
  currencies: ["Currencies", "货币"],
  capabilitiesHint: ["The administrator enables and disables them:", "由管理员启用或停用："],
  served: ["Settings of this sandbox", "沙箱运行参数"],
  servedHint: (version: string, pid: string, folder: string | null) => [
    `Version ${version}, process ${pid}, state in ${folder ?? "memory, until it stops"}. To change them, use options of checkout sandbox start.`,
    `版本 ${version}，进程 ${pid}，状态保存在 ${folder ?? "内存（停止后丢失）"}。可通过 checkout sandbox start 的选项修改。`,
  ],
  option: ["Option", "选项"],
  value: ["Value", "值"],
  changed: ["not the default", "非默认值"],
} satisfies Texts;

/** The texts of the clock of a store. */
export const CLOCK_TEXTS = {
  now: ["Store's time", "商店时间"],
  realNow: ["Real time", "真实时间"],
  difference: ["Difference", "时差"],
  apart: (span: string) => [`${span} from real time`, `与真实时间相差 ${span}`],
  real: ["real", "真实"],
  freeze: ["Freeze", "冻结"],
  toReal: ["Back to real time", "恢复真实时间"],
  advance: ["Advance", "向前推进"],
  advanceHint: [
    "Everything that becomes due happens in order: expiries, webhook retries and their effects.",
    "途中到期的事项会按顺序发生：订单过期、Webhook 重试及其后续。",
  ],
  advanceNow: ["Advance", "推进"],
  span: ["By", "时长"],
  spanHint: ["such as 31m, 2h or 45s", "例如 31m、2h 或 45s"],
  setNow: ["Set the clock", "设置时钟"],
  moment: ["Time", "指定时间"],
  momentHint: ["ISO 8601; moving the clock back undoes nothing", "ISO 8601；向后调整不会撤销任何事项"],
  moving: ["The clock is being moved …", "正在调整时钟……"],
  movingTo: ["The clock is being moved to", "正在将时钟调整到"],
  isAt: ["now at", "目前为"],
  became: (count: number) => [String(count), `${count} 个`],
  more: (count: number) => [`${count} more`, `另有 ${count} 个`],
  underWay: (count: number) => [
    `${count} due ${count === 1 ? "delivery is" : "deliveries are"} in progress`,
    `${count} 个到期推送进行中`,
  ],
  nothingHappened: ["The clock was moved. Nothing became due.", "时钟已调整，途中没有到期事项。"],
  due: ["Due next", "即将到期"],
  counts: (hour: string, day: string) => [
    `${hour} in the next hour, ${day} in the next day.`,
    `一小时内 ${hour} 项，一天内 ${day} 项。`,
  ],
  listed: (count: number) => [`The next ${count} are listed.`, `仅列出最近的 ${count} 项。`],
  in: ["In", "剩余"],
  what: ["Item", "事项"],
  waiting: ["now", "现在"],
  delivery: ["webhook is sent", "发送 Webhook"],
  expiry: ["checkout expires", "订单过期"],
  settlement: ["checkout settles automatically", "订单自动结算"],
} satisfies Texts;

/** The texts of the faults of a store. */
export const FAULTS_TEXTS = {
  none: [
    "The active faults will appear here: failures on demand, to test your client and your receiver.",
    "生效中的故障将显示在此处：可按需为客户端和接收端注入故障。",
  ],
  action: ["Action", "动作"],
  with: ["Parameters", "参数"],
  only: ["Applies to", "范围"],
  matched: ["Matched", "匹配"],
  applied: ["Applied", "命中"],
  left: ["Left", "剩余"],
  until: ["Until", "截止"],
  any: ["any", "不限"],
  unlimited: ["any number", "不限次数"],
  clear: ["Remove all", "全部移除"],
  clearNow: ["Remove all faults", "移除所有故障"],
  clearQuestion: [
    "No more requests or deliveries of this store are affected. Past effects stay.",
    "此商店的所有故障将不再生效。已发生的影响不会改变。",
  ],
  groups: {
    answers: {
      title: ["v1 answers", "v1 响应"],
      about: [
        "The service refuses a request, or sends a broken answer: does your client retry with the same key?",
        "服务拒绝请求，或响应内容损坏：客户端是否会用原幂等键重试？",
      ],
    },
    connections: {
      title: ["v1 latency and connections", "v1 延迟与连接"],
      about: [
        "A request or its answer is slow or lost: does your client find out whether the order exists?",
        "请求或响应缓慢甚至丢失：客户端能否查明订单是否已创建？",
      ],
    },
    deliveries: {
      title: ["Order and number of webhooks", "Webhook 的顺序与次数"],
      about: [
        "Events are duplicated, late, out of order or lost: does your shop still book each payment once?",
        "事件重复、延迟、乱序或丢失：商店是否仍只入账一次？",
      ],
    },
    signatures: {
      title: ["Webhook signatures", "Webhook 签名"],
      about: [
        "A delivery cannot be trusted: does your receiver refuse it?",
        "推送不可信：接收端是否会拒绝？",
      ],
    },
  },
  actions: {
    status: ["answers with an error status", "返回错误状态码"],
    rate_limit: ["answers 429 with Retry-After", "返回 429 与 Retry-After"],
    storage_full: ["answers as if the disk were full", "如同磁盘已满时响应"],
    empty: ["answers without a body", "响应没有正文"],
    truncate: ["truncates the answer", "响应正文被截断"],
    latency: ["delays the answer", "延迟响应"],
    slow_body: ["sends the answer slowly", "缓慢发送响应正文"],
    reset: ["resets the connection before the request is processed", "处理前重置连接"],
    lose_answer: ["processes the request, then loses the answer", "已处理请求，但响应丢失"],
    lose_request: ["loses the request without processing it", "请求丢失，未做任何处理"],
    duplicate: ["delivers an event twice", "同一事件推送两次"],
    reorder: ["delivers an event after later ones", "事件在后续事件之后送达"],
    delay: ["delivers an event late", "延迟推送事件"],
    drop: ["never delivers an event", "从不推送事件"],
    stale: ["signs with a timestamp that is too old", "使用过期的时间戳签名"],
    bad_signature: ["signs with a secret that does not exist", "使用不存在的密钥签名"],
    changed_body: ["changes the body after signing", "签名后更改请求体"],
    old_secret: ["signs with a retired secret", "使用已停用的密钥签名"],
  },
  chooseAction: [
    "Choose an action. The form then has only the fields of that action.",
    "请先选择故障类型，然后填写对应的参数。",
  ],
  seldom: ["Start later, or at random", "延后开始或按概率触发"],
  profiles: ["Profiles", "预设"],
  profile: ["Profile", "预设"],
  holds: ["Faults", "包含的故障"],
  addProfile: ["Add", "添加"],
  add: ["Add a fault", "添加故障"],
  addNow: ["Add the fault", "添加"],
  times: ["Times", "次数"],
  timesHint: ["default: once, or any number of times until the end", "默认一次；设定截止时间时不限次数"],
  untilHint: ["such as 10m, or a time in ISO 8601", "从现在起 10m，或指定时间"],
  status: ["Status", "状态码"],
  statusHint: (usual: number) => [`400 to 599 (default: ${usual})`, `400 至 599（默认 ${usual}）`],
  latency: ["Latency", "延迟"],
  defaultHint: (usual: string) => [`default: ${usual}`, `默认 ${usual}`],
  retryAfter: ["Retry-After, in seconds", "Retry-After（秒）"],
  orderId: ["order_id", "order_id"],
  patternHint: ["* matches any text", "* 代表任意文本"],
  path: ["v1 path", "v1 路径"],
  eventId: ["Event ID", "事件 ID"],
  endpoint: ["Endpoint", "接收端"],
  nth: ["First match", "从第几次开始"],
  nthHint: ["default: 1", "默认 1"],
  probability: ["Probability", "概率"],
  probabilityHint: ["0 to 1 (default: 1)", "0 至 1（默认 1）"],
  seed: ["Seed", "随机种子"],
  seedHint: ["random seed for the probability (default: random)", "决定概率结果；默认随机生成"],
} satisfies Texts;

/** The texts of the stores and their snapshots. */
export const STORES_TEXTS = {
  current: ["current", "当前"],
  hidden: (count: number) => [`${count} more stores are not shown.`, `另有 ${count} 个商店未显示。`],
  typeName: (name: string) => [`Type ${name}`, `请输入 ${name}`],
  reset: ["Reset", "重置"],
  resetNow: ["Reset this store", "重置此商店"],
  resetQuestion: (name: string) => [
    `The history of ${name} is deleted: orders, events, deliveries, requests, drills. Keys, prices, endpoints and origins are kept. This cannot be undone, except from a snapshot.`,
    `${name} 中发生的一切都会被删除：订单、事件、推送、请求和演练。密钥、价格、接收端和返回地址会保留。除非从快照恢复，否则无法撤销。`,
  ],
  delete: ["Delete", "删除"],
  deleteNow: ["Delete this store", "删除此商店"],
  deleteQuestion: (name: string) => [
    `${name} is deleted with everything in it, including its keys. This cannot be undone, except from a snapshot.`,
    `${name} 及其所有内容（包括密钥）都会被删除。除非从快照恢复，否则无法撤销。`,
  ],
  create: ["Create a store", "创建商店"],
  createNow: ["Create the store", "创建"],
  createHint: [
    "A store has its own keys, catalog, clock and faults. Its API key is shown once, on its first page.",
    "新商店有独立的密钥、商品、时钟和故障。其 API 密钥会在首页显示一次。",
  ],
  nameHint: ["1 to 64 characters (default: Sandbox Store)", "1 至 64 个字符（默认 Sandbox Store）"],
  sameMerchant: ["the merchant of the first store", "与第一个商店相同"],
  newMerchant: ["a new merchant", "新商户"],
  snapshots: ["Snapshots", "快照"],
  noSnapshots: ["The snapshots that you can restore will appear here.", "可以恢复的状态将显示在此处。"],
  snapshot: ["Snapshot", "快照"],
  holds: ["Contents", "内容"],
  taken: ["Taken", "时间"],
  size: ["Size", "大小"],
  wholeSandbox: ["the whole sandbox", "整个沙箱"],
  details: ["Show contents", "显示快照内容"],
  snapshotStore: ["Snapshot of this store", "为此商店创建快照"],
  snapshotAll: ["Snapshot of the whole sandbox", "为整个沙箱创建快照"],
  snapshotHint: [
    "a-z, 0-9, . _ - ; replaces a snapshot of the same name",
    "a-z、0-9、. _ -；同名快照会被替换",
  ],
  restore: ["Restore", "恢复"],
  restoreNow: ["Restore this snapshot", "恢复此快照"],
  restoreQuestion: (name: string) => [
    `${name} replaces the current state of its store, or of the whole sandbox. Everything that happened since is lost.`,
    `${name} 的内容（一个商店或整个沙箱）将取代当前状态。快照之后发生的一切都会丢失。`,
  ],
  trust: ["Trust a snapshot that another sandbox took", "信任由其他沙箱创建的快照"],
  removeNow: ["Remove this snapshot", "移除此快照"],
  removeQuestion: (name: string) => [
    `The snapshot ${name} is deleted. Stores that were restored from it stay unchanged.`,
    `快照 ${name} 将被删除。由它恢复的内容会保留。`,
  ],
} satisfies Texts;

/** The notices after the actions on these pages. */
export const NOTICE_TEXTS = {
  priceAdded: (id: string) => [`The price ${id} was added.`, `已添加价格 ${id}。`],
  priceRetired: (id: string) => [`The price ${id} was retired.`, `价格 ${id} 已停用。`],
  keyRevoked: (lastFour: string) => [`The key …${lastFour} was revoked.`, `密钥 …${lastFour} 已吊销。`],
  originAdded: ["The return origin was added.", "已添加返回地址。"],
  originRemoved: ["The return origin was removed.", "已移除返回地址。"],
  faultsAdded: (actions: string) => [`Added: ${actions}.`, `已添加：${actions}。`],
  faultRemoved: ["The fault was removed.", "已移除故障。"],
  faultsCleared: ["All faults were removed.", "已移除所有故障。"],
  storeCreated: (name: string) => [`The store ${name} was created.`, `已创建商店 ${name}。`],
  storeReset: (name: string) => [`${name} was reset.`, `${name} 已重置。`],
  storeDeleted: (name: string) => [`${name} was deleted.`, `${name} 已删除。`],
  taken: (name: string) => [`The snapshot ${name} was taken.`, `已创建快照 ${name}。`],
  takenAgain: (name: string) => [
    `The snapshot ${name} was taken, replacing the older one.`,
    `已创建快照 ${name}，并替换了同名的旧快照。`,
  ],
  restored: (count: number) => [
    count === 1
      ? "The snapshot was restored: this store has the state of the snapshot."
      : `The snapshot was restored: ${count} stores have the state of the snapshot.`,
    count === 1 ? "已恢复快照：此商店回到了当时的状态。" : `已恢复快照：${count} 个商店回到了当时的状态。`,
  ],
  restoredHeldBack: (count: number) => [
    `The snapshot was restored (stores: ${count}). Its due deliveries are held: checkout sandbox status shows why.`,
    `已恢复快照（商店：${count} 个）。当时到期的推送暂不发送：运行 checkout sandbox status 可查看原因。`,
  ],
  snapshotRemoved: (name: string) => [`The snapshot ${name} was removed.`, `已移除快照 ${name}。`],
} satisfies Texts;
