import type { Words } from "../language.ts";
import { PAYMENT_METHODS, type Capability } from "../checkout/checkout.ts";
import { isCurrency } from "../money.ts";
import { accept, refuse, type Outcome } from "../outcome.ts";
import { printableLiteral } from "../text.ts";
import type { Production, RecordedAction } from "./shapes.ts";
import type { Price } from "../checkout/shapes.ts";

/** An action on a store, as the audit log stores it. */
export type AdminAction = Omit<RecordedAction, "number"> & { readonly storeId: string };

/** The state of a store before an action. */
type StoreStatus = {
  readonly active: boolean;
  readonly capabilities: readonly Capability[];
  readonly prices: readonly Pick<Price, "id" | "approved" | "retired">[];
  readonly production: Production;
};

/** The state of production after these actions, in order. */
export function productionOf(acts: readonly RecordedAction[]): Production {
  return acts.reduce<Production>(afterAction, { request: null, approval: null, gate: null });
}

/** Whether the production credential is approved and not revoked. */
export function isApproved({ approval }: Production): boolean {
  return approval?.action === "approve_credential";
}

export function isGateOpen({ gate }: Production): boolean {
  return gate?.action === "open_gate";
}

/** Whether the merchant's last request is still open: the gate was not closed and the credential not revoked since. */
export function isRequested({ request, approval, gate }: Production): boolean {
  if (request === null) return false;
  const answers = [approval, gate].filter((act) => act !== null && act.number > request.number);
  return answers.every((act) => act?.action === "approve_credential" || act?.action === "open_gate");
}

/** Refuses with `state_conflict` (no change, or a gate without approval or request), or with `not_found`. */
export function decideAction(
  { active, capabilities, prices, production }: StoreStatus,
  { action, subject }: Pick<AdminAction, "action" | "subject">,
): Outcome<void> {
  switch (action) {
    case "request_production":
      return decideRequest(production);
    case "approve_credential":
      return unless(isApproved(production), [
        "the production credential is approved already",
        "生产凭证已获批准",
      ]);
    case "revoke_credential":
      return unless(!isApproved(production), [
        "the production credential is not approved, so nothing can be revoked",
        "生产凭证未获批准，无可撤销",
      ]);
    case "activate":
      return unless(active, ["the store is active already", "商店已启用"]);
    case "deactivate":
      return unless(!active, ["the store is inactive already", "商店已是未启用状态"]);
    case "enable_capability":
    case "disable_capability":
      return decideCapability(capabilities, { subject, wanted: action === "enable_capability" });
    case "approve_price":
    case "revoke_price":
      return decideApproval(prices, { subject, wanted: action === "approve_price" });
    case "open_gate":
      return decideOpening(production);
    case "close_gate":
      return unless(!isGateOpen(production), [
        "the production gate is closed already",
        "生产环境已是关闭状态",
      ]);
  }
}

function afterAction(before: Production, act: RecordedAction): Production {
  switch (act.action) {
    case "request_production":
      return { ...before, request: act };
    case "approve_credential":
      return { ...before, approval: act };
    case "revoke_credential":
      // If the gate stayed open, the next approval would open it again without an explicit action.
      return { ...before, approval: act, gate: isGateOpen(before) ? act : before.gate };
    case "open_gate":
    case "close_gate":
      return { ...before, gate: act };
    case "activate":
    case "deactivate":
    case "enable_capability":
    case "disable_capability":
    case "approve_price":
    case "revoke_price":
      return before;
  }
}

function decideRequest(production: Production): Outcome<void> {
  if (isGateOpen(production)) {
    return refuse("state_conflict", [
      "the production gate is already open, so there is nothing left to request",
      "生产环境已开放，无需再申请",
    ]);
  }
  return unless(isRequested(production), [
    "production was requested already, and is with the administrator",
    "已申请生产环境，正等待管理员处理",
  ]);
}

function decideOpening(production: Production): Outcome<void> {
  if (isGateOpen(production))
    return refuse("state_conflict", ["the production gate is already open", "生产环境已开放"]);
  if (production.request === null) {
    return refuse("state_conflict", [
      "the merchant has not requested production, so its gate stays closed",
      "商家尚未申请生产环境，因此保持关闭",
    ]);
  }
  return unless(!isApproved(production), [
    "the production credential is not approved, so the production gate stays closed",
    "生产凭证未获批准，因此生产环境保持关闭",
  ]);
}

function decideCapability(
  capabilities: readonly Capability[],
  { subject, wanted }: { readonly subject: string | null; readonly wanted: boolean },
): Outcome<void> {
  const found = capabilities.find(({ name }) => name === subject);
  if (found === undefined) {
    if (wanted && subject !== null && capabilityKindOf(subject) !== undefined) return accept(undefined);
    const names = capabilities.map(({ name }) => name).join(", ");
    const others = wanted ? "; any currency of ISO 4217 can be enabled, such as GBP" : "";
    return refuse("not_found", [
      `the store has no capability ${printableLiteral(subject)}; it has: ${names}${others}`,
      `商店没有支付能力 ${printableLiteral(subject)}；现有：${names}${wanted ? "；ISO 4217 的任何币种都可启用，如 GBP" : ""}`,
    ]);
  }
  return unless(found.active === wanted, [
    `the capability ${found.name} is ${wanted ? "active" : "inactive"} already`,
    `支付能力 ${found.name} 已是${wanted ? "启用" : "停用"}状态`,
  ]);
}

/** The kind of a capability; undefined if no store can have it. */
export function capabilityKindOf(name: string): Capability["kind"] | undefined {
  if (PAYMENT_METHODS.some((method) => method === name)) return "payment_method";
  return isCurrency(name) ? "currency" : undefined;
}

function decideApproval(
  prices: StoreStatus["prices"],
  { subject, wanted }: { readonly subject: string | null; readonly wanted: boolean },
): Outcome<void> {
  const found = prices.find(({ id }) => id === subject);
  const name = printableLiteral(subject);
  if (found === undefined)
    return refuse("not_found", [`the store has no price ${name}`, `商店没有价格 ${name}`]);
  if (wanted && found.retired)
    return refuse("state_conflict", [`the price ${name} is retired`, `价格 ${name} 已停用`]);
  return unless(
    found.approved === wanted,
    wanted
      ? [`the price ${name} is approved already`, `价格 ${name} 已获批准`]
      : [`the price ${name} is not approved`, `价格 ${name} 未获批准`],
  );
}

function unless(isSo: boolean, why: Words): Outcome<void> {
  return isSo ? refuse("state_conflict", why) : accept(undefined);
}
