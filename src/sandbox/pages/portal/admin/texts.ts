import type { Texts } from "../../../../web/html.ts";

export const ADMIN_TEXTS = {
  title: ["Administration", "管理"],
  hint: [
    "Stores whose merchants are waiting for an answer come first. None of this affects production.",
    "等待答复的商店排在最前。此处的操作均不影响真实生产环境。",
  ],
  request: ["Request", "申请"],
  waiting: ["waiting for you", "待处理"],
  none: ["none", "无"],
  prices: ["Prices to approve", "待批准价格"],
  hidden: (count: number) => [`${count} older stores are not shown.`, `另有 ${count} 个较早的商店未显示。`],
  requested: ["Requested", "申请时间"],
  noRequest: ["The merchant has not requested production access.", "商户尚未申请生产环境。"],
  capability: ["Capability", "支付能力"],
  payment_method: ["payment method", "支付方式"],
  currency: ["currency", "币种"],
  another: ["Another currency", "其他币种"],
  anotherHint: ["an ISO 4217 code, such as GBP", "ISO 4217 币种代码，例如 GBP"],
  catalog: ["Prices", "价格"],
  noPrices: ["The prices of this store's catalog will appear here.", "此商店的价格将显示在此处。"],
  addPrice: ["Add a price as the merchant", "以商户身份添加价格"],
  note: ["Note for the audit log (optional)", "审计日志备注（可选）"],
  log: ["Audit log", "审计日志"],
  noActs: [
    "Actions of administrators and requests of the merchant will appear here.",
    "管理员的操作和商户的申请将显示在此处。",
  ],
  number: ["No.", "编号"],
  who: ["Actor", "操作者"],
  administrator: ["administrator", "管理员"],
  merchantActor: ["merchant", "商户"],
  recorded: (number: number, action: string) => [
    `Done; recorded in the audit log as no. ${number}: ${action}.`,
    `已完成，并记入审计日志（编号 ${number}）：${action}。`,
  ],
  newest: (count: number) => [`The newest ${count} entries are shown.`, `仅显示最近的 ${count} 条记录。`],
  acts: {
    approve_credential: ["Approve the credential", "批准凭证"],
    revoke_credential: ["Revoke the approval", "撤销批准"],
    activate: ["Activate the store", "启用商店"],
    deactivate: ["Deactivate the store", "停用商店"],
    enable_capability: ["Enable", "启用"],
    disable_capability: ["Disable", "停用"],
    approve_price: ["Approve", "批准"],
    revoke_price: ["Revoke", "撤销"],
    open_gate: ["Open the gate", "开放生产环境"],
    close_gate: ["Close the gate", "关闭生产环境"],
  },
  questions: {
    approve_credential: [
      "The store will get a production credential. v1 here still accepts only test credentials.",
      "商店将获得生产凭证。此处的 v1 仍只接受测试凭证。",
    ],
    revoke_credential: [
      "The approval is revoked, and an open gate is closed.",
      "批准将被撤销，已开放的生产环境也会随之关闭。",
    ],
    activate: ["The store accepts orders again.", "商店将重新接受订单。"],
    deactivate: [
      "The store accepts no new orders until it is activated again.",
      "在重新启用之前，商店不再接受新订单。",
    ],
    enable_capability: ["New orders can use this capability.", "新订单可以使用此支付能力。"],
    disable_capability: [
      "New orders cannot use this capability until it is enabled again.",
      "在重新启用之前，新订单不能使用此支付能力。",
    ],
    approve_price: ["New orders can use this price.", "新订单可以使用此价格。"],
    revoke_price: [
      "New orders cannot use this price until it is approved again.",
      "在重新批准之前，新订单不能使用此价格。",
    ],
    open_gate: [
      "The merchant's request will be granted: the production gate of this store will open.",
      "商户的申请将获批准：此商店的生产环境将开放。",
    ],
    close_gate: [
      "The production gate of this store will close, and the merchant's request will be closed.",
      "此商店的生产环境将关闭，商户的申请也随之结束。",
    ],
  },
} satisfies Texts;
