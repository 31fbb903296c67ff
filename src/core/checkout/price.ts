import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import { printableLiteral } from "../text.ts";
import { MAX_PRICES, type PurchaseTerms } from "./checkout.ts";
import type { Price } from "./shapes.ts";

export type PriceTerms = Pick<PurchaseTerms, "amountMinor" | "currency" | "paymentMethod"> & {
  readonly description: string;
};

export const PRICE_TERM_NAMES = [
  ["amountMinor", "amount_minor"],
  ["currency", "currency"],
  ["paymentMethod", "payment_method"],
  ["description", "description"],
] as const satisfies readonly (readonly [keyof PriceTerms, string])[];

/** Refuses with `invalid_parameter` unless the store has the price, approved and not retired. */
export function priceForCheckout(id: string, price: Price | undefined): Outcome<Price> {
  if (price?.approved === true && !price.retired) return accept(price);
  const state = price === undefined ? "unknown" : price.retired ? "retired" : "unapproved";
  return refuseFact(`${state}_price`, { price: printableLiteral(id) });
}

type PriceDecision = Outcome<{ readonly price: Price; readonly isNew: boolean }>;

/**
 * Accepts a known price with the same terms. Refuses a retired id, other terms, a missing approval, and more than
 * `MAX_PRICES` with `state_conflict`.
 */
export function decidePrice(price: Price, prices: readonly Price[]): PriceDecision {
  const knownPrice = prices.find(({ id }) => id === price.id);
  if (knownPrice !== undefined) return decideKnownPrice(price, knownPrice);
  if (prices.length >= MAX_PRICES) return refuseFact("too_many_prices", { most: MAX_PRICES });
  return accept({ price, isNew: true });
}

function decideKnownPrice(price: Price, knownPrice: Price): PriceDecision {
  const id = printableLiteral(knownPrice.id);
  if (knownPrice.retired) return refuseFact("price_id_retired", { price: id });
  const otherTerms = PRICE_TERM_NAMES.filter(([field]) => knownPrice[field] !== price[field]).map(
    ([field, name]) =>
      `${name} ${printableLiteral(knownPrice[field])}, not ${printableLiteral(price[field])}`,
  );
  if (otherTerms.length > 0) return refuseFact("price_differs", { price: id, terms: otherTerms.join("; ") });
  if (price.approved && !knownPrice.approved) return refuseFact("price_unapproved", { price: id });
  return accept({ price: knownPrice, isNew: false });
}
