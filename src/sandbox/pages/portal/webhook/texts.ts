import type { Language } from "../../../../web/language.ts";

/** The texts of endpoints, events and deliveries, in English. */
const ENGLISH = {
  request: "Request",
  body: "Body",
  answer: "Answer",
  answerPart: "Answer, its first 4 KiB",
  noBody: "The answer had no body.",
  otherBody:
    "Other bytes were sent than those of the event as it is now: they are not kept, only their SHA-256.",
  to: "Sent to",
  result: "Answer",
  took: (milliseconds: number) => `${milliseconds} ms`,
  underWay: "under way",
  signature: "Signature",
  signedBy: {
    store: "Signed with the store’s signing secret.",
    endpoint: "Signed with the endpoint’s own signing secret.",
  },
  signedByBoth: (count: number) =>
    `Signed with ${count} of the endpoint’s own secrets, newest first: its secret was rotated, and the old one is valid meanwhile.`,
  verifies: "The signature verifies.",
  verifiesNot: (why: string) => `It does not verify: ${why}.`,
  faultSigned: {
    bad_signature: "The injected fault signed it with a secret that never existed.",
    old_secret: "The injected fault signed it with a secret that is not valid any more.",
    changed_body: "The injected fault changed the body after it was signed.",
    stale: "The injected fault signed it with a timestamp that is an hour old.",
  } as Readonly<Record<string, string>>,
  signingUnknown: {
    rotated:
      "The endpoint’s secret was rotated at this very moment of the store’s clock, so nobody can tell which secret signed it: the signature is not kept, and not shown.",
    unlike:
      "What would be sent now is not what the audit says was sent, so the signature cannot be made again: it is not kept, and not shown.",
  },
  checkIt: "Check it in a terminal",
  cause: "Likely cause",
  help: "What helps",
  next: "Next",
  nextTry: "the next try is due at",
  noNext: "No try follows.",
  fault: "Fault",
};

/** The same in Simplified Chinese. */
const CHINESE: typeof ENGLISH = {
  request: "请求",
  body: "正文",
  answer: "响应",
  answerPart: "响应（前 4 KiB）",
  noBody: "响应没有正文。",
  otherBody: "当时发送的字节与该事件现在的内容不同：原始字节未保留，只保留了其 SHA-256。",
  to: "发送至",
  result: "响应",
  took: (milliseconds) => `${milliseconds} 毫秒`,
  underWay: "进行中",
  signature: "签名",
  signedBy: {
    store: "使用商店的签名密钥签名。",
    endpoint: "使用该端点自己的签名密钥签名。",
  },
  signedByBoth: (count) => `使用该端点自己的 ${count} 个密钥签名，新的在前：密钥已轮换，旧密钥此间仍有效。`,
  verifies: "签名验证通过。",
  verifiesNot: (why) => `签名验证不通过：${why}。`,
  faultSigned: {
    bad_signature: "注入的故障用一个从未存在过的密钥签了名。",
    old_secret: "注入的故障用一个已失效的密钥签了名。",
    changed_body: "注入的故障在签名之后改动了正文。",
    stale: "注入的故障使用了一小时前的时间戳签名。",
  },
  signingUnknown: {
    rotated: "就在商店时钟的这一刻，端点的密钥被轮换，无法判断是哪个密钥签的名：签名未保留，因此不显示。",
    unlike: "现在会发送的内容与审计记录不同，无法重新生成签名：签名未保留，因此不显示。",
  },
  checkIt: "在终端中验证",
  cause: "可能的原因",
  help: "解决办法",
  next: "接下来",
  nextTry: "下次尝试时间：",
  noNext: "不再尝试。",
  fault: "故障",
};

/** The texts of endpoints, events and deliveries in each language. */
export const WEBHOOK_TEXTS: Readonly<Record<Language, typeof ENGLISH>> = { en: ENGLISH, zh: CHINESE };
