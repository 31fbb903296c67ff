import type { Capability } from "../../core/checkout/checkout.ts";
import type { StoreState } from "../../core/config/plan.ts";
import { accept, mapValue } from "../../core/outcome.ts";
import { applyConfig, planConfig } from "../config/apply.ts";
import { configState } from "../config/state.ts";
import type { HandlersOf } from "./handler.ts";

function withActiveCapabilities(store: StoreState) {
  const activeRows = store.capabilities.filter((capability) => capability.active);
  const namesOf = (wantedKind: Capability["kind"]): string[] =>
    activeRows.filter(({ kind }) => kind === wantedKind).map(({ name }) => name);
  const capabilities = { paymentMethods: namesOf("payment_method"), currencies: namesOf("currency") };
  return { ...store, capabilities };
}

export const configHandlers = {
  showConfig: async (context) => {
    const { settings } = context.description;
    const stores = configState(context).stores.map(withActiveCapabilities);
    return accept({ settings, stores, dialect: context.store.stores.dialect() });
  },
  applyConfig: async (context, { body: { stores, prune = false, dryRun = false } }) => {
    if (dryRun) {
      return mapValue(planConfig(context, { stores, prune }), (changes) => ({ changes, made: [] }));
    }
    return context.store.write(() => applyConfig(context, { stores, prune }));
  },
  describeConfig: async () => {
    const { configJsonSchema } = await import("../../core/config/schema.ts");
    return accept({ type: "object", ...configJsonSchema() });
  },
} satisfies HandlersOf<"config">;
