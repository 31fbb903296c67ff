// The role of a request, from its token or portal session, and what it permits. The rights: core/control/rights.ts.
import { isPermitted, type LeastRole } from "../../core/control/rights.ts";
import { accept, refuse, type Outcome } from "../../core/outcome.ts";
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
  if (!isPermitted(caller.role, least)) return refuseRole(caller, { least, what });
  return storeId === undefined ? accept(undefined) : permitStore(caller, storeId);
}

/** Requires that a limited caller names its own store; another is unknown, whether it exists or not. */
export function permitStore(caller: Caller, storeId: string): Outcome<void> {
  const own = limitOf(caller)?.storeId;
  return own === undefined || storeId === own ? accept(undefined) : refuseUnknownStore(storeId);
}

/** The control token permits no action of the administrator, and the admin token permits nothing else (decision 20). */
function refuseRole(
  caller: Caller,
  { least, what }: { readonly least: LeastRole; readonly what: string },
): Outcome<never> {
  if (limitOf(caller) !== undefined) return refuseLimited(caller, { least, what });
  return refuse(
    "scope_missing",
    least === "administrator"
      ? `${what} is an operation of the administrator: it requires the admin token in .checkout/admin.json, not the control token in run.json`
      : `${what} is not an operation of the administrator: it requires the control token in .checkout/run.json`,
  );
}

const ROLE_WORDS: Readonly<Record<LeastRole, readonly [english: string, chinese: string]>> = {
  viewer: ["viewer", "只读"],
  store: ["store", "商店"],
  owner: ["owner", "所有者"],
  administrator: ["administrator", "管理员"],
};

function refuseLimited(
  { role }: Caller,
  { least, what }: { readonly least: LeastRole; readonly what: string },
): Outcome<never> {
  const [has, needs] = [ROLE_WORDS[role], ROLE_WORDS[least]];
  const words = [
    `${what} needs the role ${needs[0]}; this token or session has the role ${has[0]}`,
    `${what} 需要角色“${needs[1]}”；此令牌或登录的角色为“${has[1]}”`,
  ] as const;
  return refuse("scope_missing", words, {
    next: "ask the owner of the sandbox; checkout whoami shows the role of the token",
  });
}
