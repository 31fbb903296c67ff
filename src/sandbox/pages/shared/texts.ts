import type { Language } from "../../../web/language.ts";

/** The texts that all pages share, in English. */
const ENGLISH = {
  testMode: "Test mode",
  noMoney: "No money moves. Everything here runs on this machine.",
  noAnswer: "The sandbox does not answer. This page shows what was last known.",
  backToCheckout: "Back to the checkout page",
  errorTitle: {
    400: "This request cannot be understood",
    403: "This request was not accepted",
    404: "There is no such page",
    405: "This page cannot do that",
    431: "This browser sent too much",
    500: "Something went wrong here",
    503: "The sandbox cannot use its database right now",
  },
  errorHint: "Go back to the shop and open the checkout again.",
  errorReason: "What exactly was wrong:",
  homeTitle: "checkout sandbox",
  homeHint:
    "The Hosted Checkout and Orders Service, on this machine. Merchants call its API; customers pay at the address that it answers with.",
  homeApi: "API",
  homeControl: "Control API, with its token",
  homeTry: "Create an order",
  homeHelp: "All commands",
  homePortal: "Open the portal",
  homeHealth: "Is it ready?",
};

/** The texts that all pages share, in Simplified Chinese. */
const CHINESE: typeof ENGLISH = {
  testMode: "测试模式",
  noMoney: "不会产生真实扣款，一切都在本机运行。",
  noAnswer: "沙箱没有响应，页面显示的是此前的状态。",
  backToCheckout: "返回支付页面",
  errorTitle: {
    400: "请求无效",
    403: "请求被拒绝",
    404: "页面不存在",
    405: "该页面不支持此操作",
    431: "浏览器发送的内容过多",
    500: "系统出错了",
    503: "沙箱暂时无法使用数据库",
  },
  errorHint: "请返回商家页面，重新打开支付页面。",
  errorReason: "具体原因：",
  homeTitle: "checkout 沙箱",
  homeHint: "在本机运行的托管收银台与订单服务。商家调用其 API，顾客在 API 返回的地址上支付。",
  homeApi: "API",
  homeControl: "控制 API（需要令牌）",
  homeTry: "创建订单",
  homeHelp: "所有命令",
  homePortal: "打开控制台",
  homeHealth: "是否就绪？",
};

/** The texts in each language. */
export const SHARED_TEXTS: Readonly<Record<Language, typeof ENGLISH>> = { en: ENGLISH, zh: CHINESE };
