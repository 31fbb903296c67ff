import {
  decideAction,
  capabilityKindOf,
  productionOf,
  type AdminAction,
} from "../../core/readiness/admin-action.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { Store } from "../../store/store.ts";
import { withStore, refuseUnknownStore } from "../with-store.ts";
import type { ServiceContext } from "../context.ts";
import type { RecordedAction } from "../../core/readiness/shapes.ts";

type ActionInput = Omit<AdminAction, "at">;

/** Refuses an action that would change nothing or is not allowed yet, and an unknown store, capability or price. */
export function applyAction(context: ServiceContext, input: ActionInput): Promise<Outcome<RecordedAction>> {
  const { storeId } = input;
  return withStore(context, storeId, (store, at) => {
    const details = store.stores.details(storeId);
    if (details === undefined) return refuseUnknownStore(storeId);
    const facts = {
      isActive: details.active,
      capabilities: store.capabilities.of(storeId),
      prices: store.prices.of(storeId),
      production: productionOf(store.adminActions.of(storeId)),
    };
    const decision = decideAction(facts, input);
    if (!decision.ok) return decision;
    apply(store, input);
    return accept(store.adminActions.insert({ ...input, at }));
  });
}

function apply({ stores, prices, capabilities }: Store, { storeId, action, subject }: ActionInput): void {
  const name = subject ?? "";
  switch (action) {
    case "activate":
    case "deactivate":
      return stores.setActive(storeId, action === "activate");
    case "enable_capability": {
      const kind = capabilityKindOf(name);
      const isNew = capabilities.of(storeId).every((capability) => capability.name !== name);
      if (isNew && kind !== undefined) return capabilities.insert(storeId, { kind, name });
      return capabilities.set(storeId, { name, active: true });
    }
    case "disable_capability":
      return capabilities.set(storeId, { name, active: false });
    case "approve_price":
    case "revoke_price": {
      const price = prices.find(storeId, name);
      if (price !== undefined) prices.put(storeId, { ...price, approved: action === "approve_price" });
      return undefined;
    }
    case "request_production":
    case "approve_credential":
    case "revoke_credential":
    case "open_gate":
    case "close_gate":
      return undefined;
  }
}
