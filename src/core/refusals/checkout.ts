export const REFUSALS_OF_CHECKOUTS = {
  state_conflict: {
    still_payable: [
      "checkout {checkout} can still be paid; it has not expired",
      "收款单 {checkout} 仍可支付，尚未过期",
    ],
    no_attempts_left: [
      "checkout {checkout} has no payment attempt left",
      "收款单 {checkout} 的支付尝试次数已用完",
    ],
    unknown_attempt: [
      "checkout {checkout} has no attempt {attempt}",
      "收款单 {checkout} 没有第 {attempt} 次支付尝试",
    ],
    attempt_ended: [
      "attempt {attempt} of checkout {checkout} has already ended: {outcome}",
      "收款单 {checkout} 的第 {attempt} 次支付尝试已结束，结果为 {outcome}",
    ],
    already_paid: [
      "checkout {checkout} is already paid (succeeded, which is final), so it cannot become {status}",
      "收款单 {checkout} 已支付（succeeded 为最终状态），不能变为 {status}",
    ],
    status_conflict: [
      "checkout {checkout} is {status} and cannot become {wanted}",
      "收款单 {checkout} 的状态为 {status}，不能变为 {wanted}",
    ],
    attempt_not_open: [
      "attempt {attempt} of checkout {checkout} is not open",
      "收款单 {checkout} 的第 {attempt} 次支付尝试不在进行中",
    ],
    no_terms: [
      "the store has no active payment method, or no active currency: checkout capabilities list",
      "商店没有启用的支付方式，或没有启用的币种：checkout capabilities list",
    ],
    too_many_prices: [
      "the store already has the maximum of {most} prices",
      "商店至多有 {most} 个价格，已达上限",
    ],
    price_id_retired: [
      "the price {price} already exists and is retired; its id cannot be used again",
      "价格 {price} 已存在且已停用；其 ID 不能再次使用",
    ],
    price_differs: [
      "the price {price} already exists, with {terms}; the terms of a price cannot change",
      "价格 {price} 已存在，内容为 {terms}；已有价格的内容不可更改",
    ],
    price_unapproved: [
      "the price {price} already exists and is not approved: see checkout admin approve-price",
      "价格 {price} 已存在但未获批准：见 checkout admin approve-price",
    ],
    price_retired: ["the price {price} is retired", "价格 {price} 已停用"],
    price_is_approved: ["the price {price} is already approved", "价格 {price} 已获批准"],
    price_is_not_approved: ["the price {price} is not approved", "价格 {price} 未获批准"],
    too_many_return_origins: [
      "the store already has {most} return origins, the maximum",
      "商店至多有 {most} 个返回地址，已达上限",
    ],
    nothing_to_request: [
      "the production gate is already open, so there is nothing left to request",
      "生产环境已开放，无需再申请",
    ],
    gate_open: ["the production gate is already open", "生产环境已开放"],
    production_not_requested: [
      "the merchant has not requested production access, so the production gate stays closed",
      "商户尚未申请生产环境，因此生产环境仍未开放",
    ],
    credential_is_approved: ["the production credential is already approved", "生产凭证已获批准"],
    nothing_to_revoke: [
      "the production credential is not approved, so nothing can be revoked",
      "生产凭证未获批准，没有可撤销的批准",
    ],
    store_is_active: ["the store is already active", "商店已启用"],
    store_is_inactive: ["the store is already inactive", "商店已处于未启用状态"],
    gate_is_closed: ["the production gate is already closed", "生产环境已是关闭状态"],
    production_is_requested: [
      "production access was already requested; the administrator has not decided yet",
      "已申请生产环境；管理员尚未处理",
    ],
    gate_stays_closed: [
      "the production credential is not approved, so the production gate stays closed",
      "生产凭证未获批准，因此生产环境仍未开放",
    ],
    capability_is_active: ["the capability {name} is already active", "支付能力 {name} 已是启用状态"],
    capability_is_inactive: ["the capability {name} is already inactive", "支付能力 {name} 已是未启用状态"],
  },
  session_not_found: {
    no_checkout: ["there is no checkout session or order {checkout}", "收银会话或订单 {checkout} 不存在"],
    no_checkout_before: [
      "there is no checkout {checkout}, so the list cannot continue from it",
      "收款单 {checkout} 不存在，列表无法从此处继续",
    ],
  },
  not_found: {
    no_attempt: [
      "checkout {checkout} has no attempt {attempt}",
      "收款单 {checkout} 没有 {attempt} 号支付尝试",
    ],
    no_price: ["the store has no price {price}", "商店没有价格 {price}"],
    not_return_origin: [
      "{origin} is not a return origin of store {store}",
      "{origin} 不是商店 {store} 的返回地址",
    ],
    no_capability: [
      "the store has no capability {capability}; it has: {names}",
      "商店没有支付能力 {capability}；现有：{names}",
    ],
    no_capability_to_enable: [
      "the store has no capability {capability}; it has: {names}; any currency of ISO 4217 can be enabled, such as GBP",
      "商店没有支付能力 {capability}；现有：{names}；ISO 4217 的任何币种都可启用，如 GBP",
    ],
  },
  invalid_parameter: {
    wallet_outcome: [
      "outcome must be one of {outcomes}; got {received}",
      "outcome 应为 {outcomes} 之一；收到 {received}",
    ],
    bad_return_origin: [
      "a return origin must {rule}; got {got}; write {instead}",
      "返回地址{rule}；收到 {got}；请写 {instead}",
    ],
    bad_return_path: ["a return path must {rule}; got {received}", "返回路径{rule}；收到 {received}"],
    page_view_kind: "kind must be opened, or returned if the page links to the shop",
  },
  origin_not_allowed: {
    form_of_other_checkout: [
      "the form does not contain the token of this checkout; reload its page",
      "表单没有本收款单的令牌；请重新加载页面",
    ],
  },
} as const;
