import type { Words } from "../language.ts";

/** The items of the launch checklist with their titles, in its order (interface 6). */
export const ITEM_TITLES = {
  production_credential: ["Production credential approved", "生产凭证已批准"],
  store_active: ["Store and capabilities active", "商店与支付能力已启用"],
  return_origins: ["Return origins registered", "返回地址已登记"],
  webhook_verification: ["Webhook verification passed", "Webhook 验证已通过"],
  idempotency_replay: ["Idempotency replay passed", "幂等重放已通过"],
  production_gate: ["Production gate opened by an administrator", "管理员已开放生产环境"],
} satisfies Record<string, Words>;
/** The name of an item. */
export type ItemName = keyof typeof ITEM_TITLES;

/** The names of the items, in their order. */
export const CHECKLIST_ITEMS = Object.keys(ITEM_TITLES) as readonly ItemName[];

/** How many items there are, in words. */
export const ITEM_COUNT = "six";

/** What drills are called on the command line, by their kinds (decision 50). */
export const DRILL_NAMES = {
  webhook: "webhooks",
  duplicates: "duplicates",
  idempotency: "idempotency",
  browser_return: "browser-return",
};
/** A kind of drill. */
export type DrillKind = keyof typeof DRILL_NAMES;

/** The kinds of drills. */
export const DRILL_KINDS = Object.keys(DRILL_NAMES) as readonly DrillKind[];

/**
 * The purchases for which the drill of idempotency runs the merchant's command. `first`: its answer is lost. `killed`: the
 * command is killed when its order is made; `restarted`: run again for it. `between`: another one, between these two, whose
 * answer is lost behind a 503. `alike`: purchases whose order_ids are alike.
 */
export const CLIENT_RUNS = ["first", "killed", "between", "restarted", "alike"] as const;
export type ClientRun = (typeof CLIENT_RUNS)[number];

/** How the drill of idempotency takes an answer from a client, in the order in which a run meets them. */
export const LOSSES = ["reset", "silence", "kill", "unavailable", "rate_limited"] as const;
/** A way in which an answer was taken from a client. */
export type Loss = (typeof LOSSES)[number];

/** What an administrator can do to a store, and what its merchant can ask for (decision 49). */
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

/** Maximum length of a note. */
export const MAX_NOTE_LENGTH = 500;
