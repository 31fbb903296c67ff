// The rules for a price, and the reasons for refusing one. Approval: core/readiness/admin-action.ts; the operations:
// sandbox/checkout/prices.ts.
import { accept, refuse, refuseFact, type Outcome } from "../outcome.ts";
import { printableLiteral } from "../text.ts";
import { MAX_PRICES, type PurchaseTerms } from "./checkout.ts";
import type { Price } from "./shapes.ts";

export type PriceTerms = Pick<PurchaseTerms, "amountMinor" | "currency" | "paymentMethod"> & {
  readonly description: string;
};

/** The names of a price's terms, in code and on the wire. */
export const PRICE_TERMS = [
  ["amountMinor", "amount_minor"],
  ["currency", "currency"],
  ["paymentMethod", "payment_method"],
  ["description", "description"],
] as const satisfies readonly (readonly [keyof PriceTerms, string])[];

/** Refuses with `invalid_parameter` unless the store has it, approved and not retired. */
export function priceForCheckout(id: string, price: Price | undefined): Outcome<Price> {
  if (price?.approved === true && !price.retired) return accept(price);
  const state = price === undefined ? "unknown" : price.retired ? "retired" : "unapproved";
  return refuseFact(`${state}_price`, { price: printableLiteral(id) });
}

/** Refuses with `state_conflict` other terms, a retired or unapproved price, and a price beyond the maximum. */
export function decidePrice(
  wanted: Price,
  all: readonly Price[],
): Outcome<{ readonly price: Price; readonly added: boolean }> {
  const known = all.find(({ id }) => id === wanted.id);
  if (known !== undefined) return decideKnown(wanted, known);
  if (all.length >= MAX_PRICES)
    return refuse("state_conflict", [
      `the store already has the maximum of ${MAX_PRICES} prices`,
      `商店至多有 ${MAX_PRICES} 个价格，已达上限`,
    ]);
  return accept({ price: wanted, added: true });
}

function decideKnown(
  wanted: Price,
  known: Price,
): Outcome<{ readonly price: Price; readonly added: boolean }> {
  const id = printableLiteral(known.id);
  const there = `the price ${id} already exists`;
  if (known.retired)
    return refuse("state_conflict", [
      `${there} and is retired; its id cannot be used again`,
      `价格 ${id} 已停用；其 id 不再使用`,
    ]);
  const others = PRICE_TERMS.filter(([field]) => known[field] !== wanted[field]).map(
    ([field, name]) => `${name} ${printableLiteral(known[field])}, not ${printableLiteral(wanted[field])}`,
  );
  if (others.length > 0)
    return refuse("state_conflict", [
      `${there}, with ${others.join("; ")}; the terms of a price cannot change`,
      `价格 ${id} 已存在，且条款不同（${others.join("; ")}）；价格的条款不可更改`,
    ]);
  if (wanted.approved && !known.approved)
    return refuse("state_conflict", [
      `${there} and is not approved: see checkout admin approve-price`,
      `价格 ${id} 已存在但未批准：见 checkout admin approve-price`,
    ]);
  return accept({ price: known, added: false });
}
