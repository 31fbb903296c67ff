/** The items of the launch checklist with their titles, in its order (interface 6). */
export const ITEM_TITLES = {
  production_credential: "Production credential approved",
  store_active: "Store and capabilities active",
  return_origins: "Return origins registered",
  webhook_verification: "Webhook verification passed",
  idempotency_replay: "Idempotency replay passed",
  production_gate: "Production gate opened by an administrator",
};
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
 * How often the merchant's command is run: once for a purchase whose answer is lost, and for a second purchase once until
 * its order is made, when it is killed, and once more.
 */
export const CLIENT_RUNS = ["first", "killed", "restarted"] as const;
export type ClientRun = (typeof CLIENT_RUNS)[number];

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

/** Maximum length of a note, in UTF-16 units. */
export const MAX_NOTE_LENGTH = 500;
