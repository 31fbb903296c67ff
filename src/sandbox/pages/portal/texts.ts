import type { Language } from "../../../web/language.ts";

/** The texts of the frame and of signing in, in English. */
const ENGLISH = {
  test: "TEST",
  menu: "Pages of this store",
  start: "Start",
  checkouts: "Checkouts",
  webhooks: "Webhooks",
  requests: "Requests",
  catalog: "Catalog",
  keys: "Keys",
  settings: "Settings",
  clock: "Clock",
  faults: "Faults",
  launch: "Launch",
  stores: "Stores",
  signIn: "Sign in",
  signInHint: "checkout open signs this browser in. Or type the code of the link that it prints.",
  code: "Code",
  codeRefused: "This code was used, has expired, or was never given out. checkout open makes a new one.",
};

/** The same in Simplified Chinese. */
const CHINESE: typeof ENGLISH = {
  test: "测试",
  menu: "商店页面",
  start: "开始",
  checkouts: "订单",
  webhooks: "Webhook",
  requests: "请求",
  catalog: "商品",
  keys: "密钥",
  settings: "设置",
  clock: "时钟",
  faults: "故障",
  launch: "上线",
  stores: "商店",
  signIn: "登录",
  signInHint: "运行 checkout open 即可登录，也可以输入其链接中的代码。",
  code: "代码",
  codeRefused: "该代码已使用、已过期或无效。运行 checkout open 可获取新的代码。",
};

/** The texts of the frame in each language. */
export const FRAME_TEXTS: Readonly<Record<Language, typeof ENGLISH>> = { en: ENGLISH, zh: CHINESE };

/** The texts of the parts that all pages share, in English. */
const ENGLISH_PARTS = {
  status: {
    created: "created",
    pending: "pending",
    succeeded: "succeeded",
    failed: "failed",
    expired: "expired",
    cancelled: "cancelled",
  },
  noAnswer: "no answer",
  pretty: "Pretty",
};

/** The same in Simplified Chinese. */
const CHINESE_PARTS: typeof ENGLISH_PARTS = {
  status: {
    created: "待支付",
    pending: "处理中",
    succeeded: "已支付",
    failed: "失败",
    expired: "已过期",
    cancelled: "已取消",
  },
  noAnswer: "无响应",
  pretty: "格式化",
};

/** The texts of the shared parts in each language. */
export const PART_TEXTS: Readonly<Record<Language, typeof ENGLISH_PARTS>> = {
  en: ENGLISH_PARTS,
  zh: CHINESE_PARTS,
};
