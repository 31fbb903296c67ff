import type { Words } from "../language.ts";

export const ITEM_TITLES = {
  production_credential: ["Production credential", "生产凭证"],
  store_active: ["Store and capabilities", "商店与支付能力"],
  return_origins: ["Return origins", "返回地址"],
  webhook_verification: ["Webhook verification", "Webhook 验证"],
  idempotency_replay: ["Idempotency replay", "幂等重放"],
  production_gate: ["Production gate", "生产环境开关"],
} satisfies Record<string, Words>;
export type ItemName = keyof typeof ITEM_TITLES;

export const CHECKLIST_ITEMS = Object.keys(ITEM_TITLES) as readonly ItemName[];

export const ITEM_COUNT_WORD = "six";

export const DRILL_NAMES = {
  webhook: "webhooks",
  duplicates: "duplicates",
  idempotency: "idempotency",
  browser_return: "browser-return",
};
export type DrillKind = keyof typeof DRILL_NAMES;

export const CHECKLIST_RUN_COMMAND = "checkout checklist run";

export const DRILL_KINDS = Object.keys(DRILL_NAMES) as readonly DrillKind[];

/** The purposes of a lease: a run of the checklist, `explore --receiver`, or a command that needs its own API key. */
export const LEASE_KINDS = ["duplicates", "explore", "key"] as const;
export type LeaseKind = (typeof LEASE_KINDS)[number];

export const ADMINISTRATOR_ACTIONS = [
  "approve_credential",
  "revoke_credential",
  "activate",
  "deactivate",
  "enable_capability",
  "disable_capability",
  "approve_price",
  "revoke_price",
  "open_gate",
  "close_gate",
] as const;
export type AdministratorAction = (typeof ADMINISTRATOR_ACTIONS)[number];

/** In code points. */
export const MAX_NOTE_LENGTH = 500;
