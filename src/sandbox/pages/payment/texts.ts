import { html, type Html, type Texts } from "../../../web/html.ts";
import type { Words } from "../../../core/language.ts";

export const PAYMENT_TEXTS = {
  method: {
    alipay_plus: ["Alipay+", "Alipay+"],
    wechat_pay: ["WeChat Pay", "微信支付"],
  },
  payTo: (store: string) => [`Pay ${store}`, `向 ${store} 支付`],
  soldBy: (merchant: string) => [`by ${merchant}`, `商户：${merchant}`],
  order: ["Order", "订单号"],
  description: ["Description", "商品说明"],
  paymentMethod: ["Payment method", "支付方式"],
  timeLeft: ["Time left", "剩余时间"],
  clockFrozen: ["(the store’s clock is frozen)", "（商家时钟已冻结）"],
  payWith: {
    alipay_plus: ["Pay with Alipay+", "使用 Alipay+ 支付"],
    wechat_pay: ["Pay with WeChat Pay", "使用微信支付"],
  },
  startHint: {
    alipay_plus: [
      "You will confirm the payment in your Alipay+ wallet. Nothing is charged before that.",
      "您将在支持 Alipay+ 的钱包中确认支付，确认之前不会扣款。",
    ],
    wechat_pay: [
      "You will confirm the payment in WeChat Pay. Nothing is charged before that.",
      "您将在微信中确认支付，确认之前不会扣款。",
    ],
  },
  // Alipay+ is a network of wallets, so the text does not name one app.
  scan: {
    alipay_plus: ["Scan with your Alipay+ wallet", "请使用支持 Alipay+ 的钱包扫码支付"],
    wechat_pay: ["Scan with WeChat Pay", "请使用微信扫码支付"],
  },
  scanHint: [
    "Scan the code with your phone, then confirm the payment there.",
    "请用手机扫描二维码，并在手机上确认支付。",
  ],
  noPhone: [
    "This address works only on this machine, so a phone cannot open it. Pay here with the button below.",
    "此地址仅限本机访问，手机无法打开。请点击下方按钮在此支付。",
  ],
  qrName: ["QR code of the wallet page of this payment", "本次支付的钱包页面二维码"],
  openWallet: ["Open the sandbox wallet here", "在此打开沙箱钱包"],
  updatesItself: ["This page updates automatically.", "本页面会自动更新。"],
  checkAgain: ["Check again", "刷新支付状态"],
  settlesSoon: [
    "This order number is reserved: the payment settles automatically in a moment.",
    "该订单号为保留编号：稍后将自动产生支付结果。",
  ],
  settlesFrozen: [
    "This order number is reserved: the payment settles automatically, but not while the store’s clock is frozen.",
    "该订单号为保留编号：商家时钟目前已冻结，恢复运行后将自动产生支付结果。",
  ],
  cancel: ["Cancel payment", "取消支付"],
  cancelAsk: [
    "The order will not be paid, and can no longer be paid on this page.",
    "取消后，该订单不会支付，也无法再在本页面支付。",
  ],
  cancelSure: ["Yes, cancel the payment", "确认取消支付"],
  returnUnpaid: (store: string) => [`Return to ${store} without paying`, `暂不支付，返回 ${store}`],
  returnTo: (store: string) => [`Return to ${store}`, `返回 ${store}`],
  ready: ["Ready for payment", "等待支付"],
  waiting: ["Waiting for your confirmation", "正在等待您确认支付"],
  declined: (triesLeft: number) => {
    const [english, chinese] = tryAgainText(triesLeft);
    return [`The payment was declined. ${english}`, `支付被拒，${chinese}`];
  },
  result: {
    succeeded: ["Payment successful", "支付成功"],
    failed: ["Payment failed", "支付失败"],
    cancelled: ["Payment cancelled", "支付已取消"],
    expired: ["This checkout has expired", "本次支付已过期"],
  },
  resultHint: {
    succeeded: ["You can close this page.", "您可以关闭此页面。"],
    failed: [
      "You have not been charged. Please go back to the shop to try again.",
      "本次未扣款，请返回商家页面重试。",
    ],
    cancelled: ["You have not been charged.", "本次未扣款。"],
    expired: [
      "You have not been charged. Please go back to the shop to start again.",
      "本次未扣款，请返回商家页面重新下单。",
    ],
  },
  late: [
    "Your payment was confirmed after this checkout had ended. It was not applied to the order; please contact the shop.",
    "收款单结束后才收到您的支付确认，这笔支付未计入订单，请联系商家处理。",
  ],
  paidTo: ["Paid to", "收款方"],
  paidOn: ["Paid on", "支付时间"],
  reference: ["Reference", "交易编号"],
  sentBack:
    (store: string, seconds: Html): Html =>
    (language) => {
      const words =
        language === "en"
          ? html`You will return to ${store} in ${seconds} s.`
          : html`${seconds} 秒后自动返回 ${store}。`;
      return words(language);
    },
  stay: ["Stay on this page", "留在本页面"],
  shop: ["Shop", "商家"],
  forDevelopers: ["For developers", "开发者信息"],
  checkoutId: ["Checkout ID", "收款单 ID"],
  status: ["Status", "状态"],
  attempts: ["Attempts", "支付尝试"],
  noAttempts: ["none", "无"],
  outcome: {
    open: ["open", "进行中"],
    succeeded: ["succeeded", "成功"],
    declined: ["declined", "支付被拒"],
    failed: ["failed", "失败"],
    abandoned: ["abandoned", "已中止"],
  },
  lateResults: ["Late results", "结束后收到的结果"],
  noReturn: [
    "No return origin is registered for this store. Add one:",
    "该商家尚未登记返回地址，可用以下命令添加：",
  ],
  onPhone: [
    "A phone can reach this machine only through a tunnel (--allow-host) or adb reverse.",
    "手机只能通过隧道（--allow-host）或 adb reverse 访问本机。",
  ],
  wallet: {
    alipay_plus: ["Alipay+ sandbox wallet", "Alipay+ 沙箱钱包"],
    wechat_pay: ["WeChat Pay sandbox wallet", "微信支付沙箱钱包"],
  },
  payee: ["Pay to", "收款方"],
  confirm: ["Pay", "支付"],
  otherwise: ["Or simulate another outcome", "或模拟其他结果"],
  decline: ["Decline", "支付被拒"],
  declineHint: ["Refused this time; the customer can try again", "本次支付被拒，顾客可以重试"],
  fail: ["Fail", "失败"],
  failHint: ["Refused permanently; the payment fails", "支付被拒且无法重试，收款单失败"],
  cancelInWallet: ["Cancel", "取消"],
  cancelHint: ["The customer changes their mind", "顾客改变主意，取消支付"],
  tooLate: ["Pay too late", "过期后支付"],
  tooLateHint: ["The checkout expires, then the payment is confirmed", "收款单先过期，之后才收到支付确认"],
  walkAway: ["Walk away", "不操作，直接离开"],
  walkAwayHint: [
    "Nothing happens; the checkout stays open until it expires",
    "不提交结果，收款单保持未完成，直到过期",
  ],
  walkedAway: ["You walked away", "您已离开钱包"],
  walkedAwayHint: [
    "Nothing was sent. The checkout stays open until it expires.",
    "未提交任何结果，收款单保持未完成，直到过期。",
  ],
  backToWallet: ["Back to the wallet", "返回钱包"],
  walletDeclined: ["Payment declined", "支付被拒"],
  tryAgain: tryAgainText,
  newAttempt: ["A new attempt has started.", "已重新发起支付。"],
  payAnyway: ["Pay anyway (the checkout has ended)", "仍要支付（收款单已结束）"],
} satisfies Texts;

function tryAgainText(triesLeft: number): Words {
  const english = triesLeft === 1 ? "You can try once more." : `You can try again, up to ${triesLeft} times.`;
  return [english, `您还可以再试 ${triesLeft} 次。`];
}
