import { isPermitted, type MinRole } from "../../core/control/rights.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { createPart } from "../../core/fact.ts";
import { refuseFact } from "../../core/refusals.ts";
import type { TokenEntry } from "../../core/store/shapes.ts";
import type { Store } from "../../store/store.ts";
import { refuseUnknownStore } from "../with-store.ts";

export type LimitedCaller = Pick<TokenEntry, "role" | "storeId" | "tokenId" | "expiresAt">;

/** Owner and administrator reach all stores; their tokens have no id and no expiry. */
export type Caller = (typeof NO_LIMITS & { readonly role: "owner" | "administrator" }) | LimitedCaller;

const NO_LIMITS = { storeId: null, tokenId: null, expiresAt: null } as const;
export const OWNER: Caller = { role: "owner", ...NO_LIMITS };
export const ADMINISTRATOR: Caller = { role: "administrator", ...NO_LIMITS };

const NOBODY: Caller = { role: "viewer", storeId: "", tokenId: "", expiresAt: 0 };

export function callerOfSession(
  session: { readonly role: "merchant" | "administrator"; readonly limit?: LimitedCaller } | undefined,
): Caller {
  if (session === undefined) return NOBODY;
  return session.role === "administrator" ? ADMINISTRATOR : (session.limit ?? OWNER);
}

export function requireRole({ role }: Caller, minRole: MinRole, operation: string): Outcome<void> {
  if (isPermitted(role, minRole)) return accept(undefined);
  if (role === "owner") return refuseFact("not_administrator", { operation });
  if (role === "administrator") return refuseFact("not_of_administrator", { operation });
  const values = {
    operation,
    needed: createPart(`role_${minRole}`, {}),
    role: createPart(`role_${role}`, {}),
  };
  return refuseFact("role_too_low", values, {
    next: "ask the owner of the sandbox; checkout whoami shows the role of the token",
  });
}

export function requireStoreAccess(caller: Caller, storeId: string | undefined): Outcome<void> {
  const isOwn = storeId === undefined || hasStoreAccess(caller, storeId);
  return isOwn ? accept(undefined) : refuseUnknownStore(storeId);
}

export function hasStoreAccess(caller: Caller, storeId: string | null): boolean {
  return caller.storeId === null || storeId === caller.storeId;
}

export function hasAccessToExistingStore(
  { stores }: Pick<Store, "stores">,
  caller: Caller,
  storeId: string,
): boolean {
  return hasStoreAccess(caller, storeId) && stores.names(storeId) !== undefined;
}

export function defaultStoreOf({ stores }: Pick<Store, "stores">, caller: Caller): string | undefined {
  return caller.storeId ?? stores.first()?.id;
}
