// The role of a request, from its token or portal session, and what it permits. The rights: core/control/rights.ts.
import { isPermitted, type LeastRole } from "../../core/control/rights.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { partOf } from "../../core/fact.ts";
import { refuseFact } from "../../core/refusals.ts";
import type { StoreRole } from "../../core/store/shapes.ts";
import { refuseUnknownStore } from "../at-store.ts";

/** A caller who is limited to one store, by a token or by the session of a link. */
export type LimitedCaller = {
  readonly role: StoreRole;
  readonly storeId: string;
  readonly tokenId: string;
  /** In milliseconds by the real clock. */
  readonly expiresAt: number;
};

/** The caller of an operation: `owner` runs the sandbox, `administrator` acts as the service's administrator. */
export type Caller = { readonly role: "owner" | "administrator" } | LimitedCaller;

export const OWNER: Caller = { role: "owner" };
export const ADMINISTRATOR: Caller = { role: "administrator" };

/** The caller of a page without a session, which runs no operation of an owner. */
const NOBODY: Caller = { role: "viewer", storeId: "", tokenId: "", expiresAt: 0 };

export function callerOfSession(
  session: { readonly role: "merchant" | "administrator"; readonly limit?: LimitedCaller } | undefined,
): Caller {
  if (session === undefined) return NOBODY;
  return session.role === "administrator" ? ADMINISTRATOR : (session.limit ?? OWNER);
}

export function limitOf(caller: Caller): LimitedCaller | undefined {
  return "storeId" in caller ? caller : undefined;
}

/**
 * Requires a role, and for a limited caller its own store. For such a caller every other store is as unknown as a store
 * that does not exist. `storeId` is the named store; undefined if none is named.
 */
export function permit(
  caller: Caller,
  {
    least,
    what,
    storeId,
  }: { readonly least: LeastRole; readonly what: string; readonly storeId?: string | undefined },
): Outcome<void> {
  if (!isPermitted(caller.role, least)) return refuseRole(caller.role, least, what);
  return storeId === undefined ? accept(undefined) : permitStore(caller, storeId);
}

/** Requires that a limited caller names its own store; another is unknown, whether it exists or not. */
export function permitStore(caller: Caller, storeId: string): Outcome<void> {
  const own = limitOf(caller)?.storeId;
  return own === undefined || storeId === own ? accept(undefined) : refuseUnknownStore(storeId);
}

/** The control token permits no action of the administrator, and the admin token permits nothing else (decision 20). */
function refuseRole(role: Caller["role"], least: LeastRole, operation: string): Outcome<never> {
  if (role === "owner") return refuseFact("not_administrator", { operation });
  if (role === "administrator") return refuseFact("not_of_administrator", { operation });
  const values = { operation, needed: partOf(`role_${least}`, {}), role: partOf(`role_${role}`, {}) };
  return refuseFact("role_too_low", values, {
    next: "ask the owner of the sandbox; checkout whoami shows the role of the token",
  });
}
