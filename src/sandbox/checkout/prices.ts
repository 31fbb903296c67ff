import { decidePrice } from "../../core/checkout/price.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { printableLiteral } from "../../core/text.ts";
import type { Store } from "../../store/store.ts";
import { withStore } from "../with-store.ts";
import type { ServiceContext } from "../context.ts";
import type { Price } from "../../core/checkout/shapes.ts";

const ADDED_NOTE = "approved when it was added to the sandbox";

export function addPrice(
  context: ServiceContext,
  storeId: string,
  requestedPrice: Price,
): Promise<Outcome<AnswerOf<"addPrice">>> {
  return withStore(context, storeId, (store, at) => {
    const decision = decidePrice(requestedPrice, store.prices.of(storeId));
    if (!decision.ok) return decision;
    const { price, isNew } = decision.value;
    if (isNew) store.prices.put(storeId, price);
    if (isNew && price.approved) recordApproval(store, { storeId, price, note: ADDED_NOTE, at });
    const { paymentMethods = [], currencies = [] } = store.stores.facts(storeId) ?? {};
    const names = new Set([...paymentMethods, ...currencies]);
    const missingCapabilities = [price.paymentMethod, price.currency].filter((name) => !names.has(name));
    return accept({ ...price, added: isNew, missingCapabilities });
  });
}

/** Later creates with the price are refused. */
export function retirePrice(
  context: ServiceContext,
  { storeId, id }: { readonly storeId: string; readonly id: string },
): Promise<Outcome<Price>> {
  return withStore(context, storeId, ({ prices }) => {
    const price = prices.find(storeId, id);
    if (price === undefined) return refuseFact("no_price", { price: printableLiteral(id) });
    const retiredPrice = { ...price, retired: true };
    if (!price.retired) prices.put(storeId, retiredPrice);
    return accept(retiredPrice);
  });
}

export function recordApproval(
  { adminActions }: Pick<Store, "adminActions">,
  approval: { readonly storeId: string; readonly price: Price; readonly note: string; readonly at: number },
): void {
  const { storeId, price, note, at } = approval;
  const action = price.approved ? "approve_price" : "revoke_price";
  adminActions.insert({ storeId, actor: "administrator", action, subject: price.id, note, at });
}
