import type { StoreRole } from "../store/shapes.ts";

/**
 * Each role has the rights of the lower ones: viewer, store, owner. `administrator` is separate and has none of them.
 */
export type MinRole = StoreRole | "owner" | "administrator";

const RANKS: Readonly<Record<StoreRole | "owner", number>> = { viewer: 0, store: 1, owner: 2 };

export function isPermitted(role: MinRole, minRole: MinRole): boolean {
  if (role === "administrator" || minRole === "administrator") return role === minRole;
  return RANKS[role] >= RANKS[minRole];
}

const DAY_MS = 24 * 3_600_000;
export const TOKEN_VALIDITY_MS = { least: 60_000, default: 7 * DAY_MS, most: 366 * DAY_MS } as const;
