import type { Words } from "../language.ts";

export const READINESS_SENTENCES = {
  verdict: {
    ready: ["Ready", "已就绪"],
    ready_with_risks: ["Ready with risks", "已就绪（有风险）"],
    not_ready: ["Not ready", "未就绪"],
  },
  explored: (scheduleCount: number, brokenCount: number, notJudgedCount: number): Words => {
    const [notJudgedEnglish, notJudgedChinese] =
      notJudgedCount === 0
        ? ["", ""]
        : [
            `, ${notJudgedCount} ${notJudgedCount === 1 ? "fault" : "faults"} not judged`,
            `，${notJudgedCount} 个故障未判定`,
          ];
    return [
      `Explored: ${scheduleCount} schedules, ${brokenCount} broken${notJudgedEnglish}`,
      `故障探测：${scheduleCount} 个方案，${brokenCount} 个出错${notJudgedChinese}`,
    ];
  },
  /** Part of every report, because a test can prove nothing about live payments (interface 5). */
  testMode: [
    "This is test mode: nothing here shows that live payments work.",
    "当前为测试模式：此处的结果不代表真实支付可用。",
  ],
  approved: [
    "an administrator has approved the production credential of this store",
    "管理员已批准本商店的生产凭证",
  ],
  notRequested: [
    "production access was not requested, and no administrator has approved a production credential",
    "尚未申请生产环境，管理员也未批准生产凭证",
  ],
  notApproved: [
    "production access was requested; no administrator has approved the production credential yet",
    "已申请生产环境，管理员尚未批准生产凭证",
  ],
  approvalRevoked: [
    "an administrator has revoked the approval of the production credential",
    "管理员已撤销对生产凭证的批准",
  ],
  gateOpen: ["an administrator has opened the production gate of this store", "管理员已开放本商店的生产环境"],
  gateNeverOpened: [
    "no administrator has opened the production gate of this store",
    "管理员从未开放过本商店的生产环境",
  ],
  gateClosed: ["an administrator has closed this store's production gate", "管理员已关闭本商店生产环境开关"],
  gateClosedByRevocation: [
    "the production gate closed when the approval of the credential was revoked",
    "撤销凭证批准时，生产环境随之关闭",
  ],
  store: (isActive: boolean) => [
    `store ${isActive ? "active" : "inactive"}`,
    `商店${isActive ? "已启用" : "未启用"}`,
  ],
  act: (actor: string, action: string, note: string | null) => [
    `${actor}: ${action}${note === null ? "" : ` (${note})`}`,
    `${actor === "merchant" ? "商户" : "管理员"}：${action}${note === null ? "" : `（${note}）`}`,
  ],
  capabilities: (kind: string, isActive: boolean, namesText: string) => [
    `${kind} ${isActive ? "active" : "inactive"}: ${namesText}`,
    `${kindInChinese(kind)}${isActive ? "已启用" : "未启用"}：${namesText}`,
  ],
  storeActive: (count: number) => [
    `the store is active, with all its ${count} capabilities`,
    `商店已启用，全部 ${count} 项支付能力均已启用`,
  ],
  storeInactive: ["the store is not active, so it accepts no orders", "商店未启用，因此不接受订单"],
  capabilitiesOff: (namesText: string) => [`not active: ${namesText}`, `未启用：${namesText}`],
  capabilityMissing: (kind: string) => [`the store has no ${kind}`, `商店没有${kindInChinese(kind)}`],
  noOrigin: [
    "no return origin is registered, so customers cannot be sent back",
    "没有登记返回地址，顾客支付后无法返回",
  ],
  origins: (count: number) => [
    count === 1 ? "a return origin is registered" : `${count} return origins are registered`,
    `已登记 ${count} 个返回地址`,
  ],
  but: (first: Words, second: Words) => [`${first[0]}, but ${second[0]}`, `${first[1]}，但${second[1]}`],
  originsOnlyLocal: [
    "every return origin is http or on this machine: customers on other machines cannot return there",
    "所有返回地址都使用 http 或指向本机：其他机器上的顾客无法返回",
  ],
  browserReturnDrill: ["the browser return drill", "浏览器返回演练"],
  endpointPaused: (url: string, reason: Words) => [
    `${url} is paused: ${reason[0]}`,
    `${url} 已暂停：${reason[1]}`,
  ],
  noEndpoint: ["no endpoint is registered", "没有登记接收端"],
  noEndpointEnabled: ["no endpoint is enabled", "没有启用的接收端"],
  webhooksPassed: (count: number) => [
    `drills show that ${count === 1 ? "the endpoint" : `each of ${count} endpoints`} accepts valid webhooks and refuses invalid ones, and that the shop books each payment once`,
    `演练显示：${count} 个接收端接受有效的 Webhook、拒绝无效的 Webhook，且商店对每笔支付只入账一次`,
  ],
  webhookDrill: (url: string) => [`the webhook drill of ${url}`, `${url} 的 Webhook 演练`],
  endpointChanged: [
    "no longer counts: the address or the secret has changed since",
    "已失效：此后接收端的地址或密钥有变更",
  ],
  sentTestOnly: (title: Words) => [
    `${title[0]} sent webhook.test only: with --order-view it also sends forged events of an order`,
    `${title[1]}只发送了 webhook.test：加上 --order-view 还会发送某个订单的伪造事件`,
  ],
  duplicatesDrill: ["the duplicates drill", "重复推送演练"],
  endpointsChanged: ["no longer counts: the endpoints have changed since", "已失效：此后接收端有变更"],
  idempotencyDrill: ["the idempotency drill", "幂等演练"],
  storeChanged: ["no longer counts: it belongs to another store", "已失效：该演练属于另一个商店"],
  keyReplayed: (key: string) => [
    `the log has a create that was repeated with its key ${key}; only the drill is proof`,
    `日志中有一次用同一幂等键 ${key} 重复发送的创建请求；只有演练才算证明`,
  ],
  keyRefused: (key: string) => [
    `the log shows a different request that was refused because key ${key} was already used; only the drill is proof`,
    `日志中有另一个请求因幂等键 ${key} 已使用而被拒绝；只有演练才算证明`,
  ],
  idempotencyPassed: ["the drill passed: a retry sent the same key", "演练通过：重试时沿用了原幂等键"],
  notRun: ["was not run", "尚未运行"],
  waived: (title: Words) => [`${title[0]} is skipped`, `${title[1]}已跳过`],
  waivedUntil: (drill: string, until: string, reason: string) => [
    `the ${drill} drill is skipped until ${until}: ${reason}`,
    `${drill} 演练跳过至 ${until}：${reason}`,
  ],
  failed: (title: Words, why: Words) => [`${title[0]} failed: ${why[0]}`, `${title[1]}未通过：${why[1]}`],
  invalid: (title: Words, why: Words) => [`${title[0]} ${why[0]}`, `${title[1]}${why[1]}`],
  inTheFuture: ["is later than the store's clock", "的时间晚于商店时钟"],
  tooOld: ["is older than 7 days", "已超过 7 天"],
  ended: (title: Words, hasPassed: boolean, heldCount: number, totalCount: number) => [
    `${title[0]} ${hasPassed ? "passed" : "failed"}: ${heldCount} of ${totalCount} steps`,
    `${title[1]}${hasPassed ? "通过" : "未通过"}：${totalCount} 步中 ${heldCount} 步通过`,
  ],
  step: (name: string, expectedWords: Words, gotWords: Words) => [
    `${name}: expected ${expectedWords[0]}; got ${gotWords[0]}`,
    `步骤 ${name}：应为 ${expectedWords[1]}；实为 ${gotWords[1]}`,
  ],
  stepCause: (name: string, cause: Words) => [`${name}: ${cause[0]}`, `步骤 ${name}：${cause[1]}`],
  moreFailed: (count: number) => [`${count} more steps failed`, `另有 ${count} 步未通过`],
  notFinished: ["it did not finish", "演练没有完成"],
} satisfies Readonly<Record<string, ReadinessSentence>>;

function kindInChinese(kind: string): string {
  return kind === "currency" ? "币种" : "支付方式";
}

type ReadinessSentence = Words | ((...values: never[]) => Words) | Readonly<Record<string, Words>>;
