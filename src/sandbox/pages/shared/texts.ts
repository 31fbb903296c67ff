import type { Texts } from "../../../web/html.ts";

export const SHARED_TEXTS = {
  testMode: ["Test mode", "测试模式"],
  noMoney: ["No money moves. Everything here runs on this machine.", "不会产生真实扣款，一切都在本机运行。"],
  noAnswer: [
    "The sandbox does not answer. This page shows the last known state.",
    "沙箱没有响应，此页面显示的是最后的状态。",
  ],
  backToCheckout: ["Back to the payment page", "返回支付页面"],
  errorTitle: {
    400: ["This request is not valid", "请求无效"],
    403: ["This request was not accepted", "请求被拒绝"],
    404: ["This page does not exist", "页面不存在"],
    405: ["This page does not support the request", "该页面不支持此操作"],
    431: ["This browser sent headers that are too large", "浏览器发送的请求头过大"],
    500: ["Something went wrong here", "系统出错了"],
    503: ["The sandbox cannot use its database right now", "沙箱暂时无法使用数据库"],
  },
  errorHint: ["Go back to the shop and open the payment page again.", "请返回商家页面，重新打开支付页面。"],
  errorReason: ["Reason:", "具体原因："],
  homeTitle: ["checkout sandbox", "checkout 沙箱"],
  homeHint: [
    "The Hosted Checkout and Orders Service on this machine. Merchants call its API; customers pay at the address that the API returns.",
    "在本机运行的托管收银台与订单服务。商户调用其 API，顾客在 API 返回的地址支付。",
  ],
  homeApi: ["API", "API"],
  homeControl: ["Control API (requires a token)", "控制 API（需要令牌）"],
  homeTry: ["Create an order", "创建订单"],
  homeHelp: ["All commands", "所有命令"],
  homePortal: ["Open the portal", "打开控制台"],
  homeHealth: ["Health check", "健康检查"],
} satisfies Texts;
