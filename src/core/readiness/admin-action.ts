import { PAYMENT_METHODS, type Capability } from "../checkout/checkout.ts";
import { isCurrency } from "../money.ts";
import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import type { FactWithoutValues } from "../refusals.ts";
import { printableLiteral } from "../text.ts";
import type { Production, RecordedAction, SubjectAction } from "./shapes.ts";
import type { Price } from "../checkout/shapes.ts";

export type AdminAction = Omit<RecordedAction, "number"> & { readonly storeId: string };

type StoreStatus = {
  readonly isActive: boolean;
  readonly capabilities: readonly Capability[];
  readonly prices: readonly Pick<Price, "id" | "approved" | "retired">[];
  readonly production: Production;
};

export function productionOf(acts: readonly RecordedAction[]): Production {
  return acts.reduce<Production>(applyAction, { request: null, approval: null, gate: null });
}

export function isProductionApproved({ approval }: Production): boolean {
  return approval?.action === "approve_credential";
}

export function isGateOpen({ gate }: Production): boolean {
  return gate?.action === "open_gate";
}

/** A request lapses when the gate is closed or the credential is revoked. */
export function isProductionRequested({ request, approval, gate }: Production): boolean {
  if (request === null) return false;
  const answers = [approval, gate].filter((act) => act !== null && act.number > request.number);
  return answers.every((act) => act?.action === "approve_credential" || act?.action === "open_gate");
}

/**
 * Refuses with `not_found` an unknown capability or price, and with `state_conflict` other actions that are not
 * allowed.
 */
export function decideAction(
  status: StoreStatus,
  { action, subject }: Pick<AdminAction, "action" | "subject">,
): Outcome<void> {
  if (action === "enable_capability" || action === "disable_capability")
    return decideCapability(status.capabilities, { subject, shouldBeActive: action === "enable_capability" });
  if (action === "approve_price" || action === "revoke_price")
    return decideApproval(status.prices, { subject, shouldBeApproved: action === "approve_price" });
  const fact = REFUSALS[action](status);
  return fact === false ? accept(undefined) : refuseFact(fact, {}, { next: NEXT_COMMANDS[fact] });
}

const NEXT_COMMANDS: Readonly<Partial<Record<FactWithoutValues, string>>> = {
  production_not_requested: "checkout production request",
  gate_stays_closed: "checkout admin approve-credential",
};

const REFUSALS = {
  request_production: ({ production }) =>
    isGateOpen(production)
      ? "nothing_to_request"
      : isProductionRequested(production) && "production_is_requested",
  approve_credential: ({ production }) => isProductionApproved(production) && "credential_is_approved",
  revoke_credential: ({ production }) => !isProductionApproved(production) && "nothing_to_revoke",
  activate: ({ isActive }) => isActive && "store_is_active",
  deactivate: ({ isActive }) => !isActive && "store_is_inactive",
  open_gate: ({ production }) => {
    if (isGateOpen(production)) return "gate_open";
    if (production.request === null) return "production_not_requested";
    return !isProductionApproved(production) && "gate_stays_closed";
  },
  close_gate: ({ production }) => !isGateOpen(production) && "gate_is_closed",
} satisfies Record<
  Exclude<AdminAction["action"], SubjectAction>,
  (status: StoreStatus) => FactWithoutValues | false
>;

const AFFECTED_FIELDS: Readonly<Partial<Record<AdminAction["action"], keyof Production>>> = {
  request_production: "request",
  approve_credential: "approval",
  revoke_credential: "approval",
  open_gate: "gate",
  close_gate: "gate",
};

function applyAction(production: Production, act: RecordedAction): Production {
  const { [act.action]: field } = AFFECTED_FIELDS;
  if (field === undefined) return production;
  // Otherwise the next approval would reopen the gate without an explicit action.
  const closesGate = act.action === "revoke_credential" && isGateOpen(production);
  return { ...production, ...(closesGate && { gate: act }), [field]: act };
}

function decideCapability(
  capabilities: readonly Capability[],
  { subject, shouldBeActive }: { readonly subject: string | null; readonly shouldBeActive: boolean },
): Outcome<void> {
  const capability = capabilities.find(({ name }) => name === subject);
  if (capability === undefined) {
    if (shouldBeActive && subject !== null && capabilityKindOf(subject) !== undefined)
      return accept(undefined);
    const names = capabilities.map(({ name }) => name);
    const fact = shouldBeActive ? "no_capability_to_enable" : "no_capability";
    return refuseFact(fact, { capability: printableLiteral(subject), names });
  }
  const fact = shouldBeActive ? "capability_is_active" : "capability_is_inactive";
  return capability.active === shouldBeActive
    ? refuseFact(fact, { name: capability.name })
    : accept(undefined);
}

export function capabilityKindOf(name: string): Capability["kind"] | undefined {
  if (PAYMENT_METHODS.some((method) => method === name)) return "payment_method";
  return isCurrency(name) ? "currency" : undefined;
}

function decideApproval(
  prices: StoreStatus["prices"],
  { subject, shouldBeApproved }: { readonly subject: string | null; readonly shouldBeApproved: boolean },
): Outcome<void> {
  const price = prices.find(({ id }) => id === subject);
  const name = printableLiteral(subject);
  if (price === undefined) return refuseFact("no_price", { price: name });
  if (shouldBeApproved && price.retired) return refuseFact("price_retired", { price: name });
  const fact = shouldBeApproved ? "price_is_approved" : "price_is_not_approved";
  return price.approved === shouldBeApproved ? refuseFact(fact, { price: name }) : accept(undefined);
}
