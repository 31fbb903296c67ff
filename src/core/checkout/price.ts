// What a price can be, and why one is refused. Who approves it: core/readiness/admin-act.ts; its verbs:
// sandbox/checkout/prices.ts.
import { accept, refuse, type Outcome } from "../outcome.ts";
import { printableLiteral } from "../text.ts";
import type { Price } from "../control/checkout.ts";
import { MAX_PRICES, type Terms } from "./checkout.ts";

/** What a price says of the checkouts that name it. */
export type PriceTerms = Pick<Terms, "amountMinor" | "currency" | "paymentMethod"> & {
  readonly description: string;
};

/** Each of them, with its name on the wire. */
export const PRICE_TERMS = [
  ["amountMinor", "amount_minor"],
  ["currency", "currency"],
  ["paymentMethod", "payment_method"],
  ["description", "description"],
] as const satisfies readonly (readonly [keyof PriceTerms, string])[];

/** The price that a create names. Refuses with `invalid_parameter` unless the store has it, approved and not retired. */
export function priceForCheckout(id: string, price: Price | undefined): Outcome<Price> {
  if (price?.approved === true && !price.retired) return accept(price);
  return refuse(
    "invalid_parameter",
    `price_id must name an approved price of this store; got ${printableLiteral(id)}, ${whyNot(price)}`,
  );
}

/**
 * What adding a price comes to: a new one, or one that is there with the same terms, which stays as it is. Refuses with
 * `state_conflict` an id that stands for other terms, or was retired; a price that is there and not approved, where an
 * approved one is wanted; and one more than a store may have.
 */
export function decidePrice(
  wanted: Price,
  all: readonly Price[],
): Outcome<{ readonly price: Price; readonly added: boolean }> {
  const known = all.find(({ id }) => id === wanted.id);
  if (known !== undefined) return decideKnown(wanted, known);
  if (all.length >= MAX_PRICES)
    return refuse("state_conflict", [
      `a store may have ${MAX_PRICES} prices, and has them`,
      `商店至多有 ${MAX_PRICES} 个价格，已达上限`,
    ]);
  return accept({ price: wanted, added: true });
}

function decideKnown(
  wanted: Price,
  known: Price,
): Outcome<{ readonly price: Price; readonly added: boolean }> {
  const id = printableLiteral(known.id);
  const there = `the price ${id} is there already`;
  if (known.retired)
    return refuse("state_conflict", [
      `${there}, retired; its id is not used again`,
      `价格 ${id} 已停用；其 id 不再使用`,
    ]);
  const others = PRICE_TERMS.filter(([field]) => known[field] !== wanted[field]).map(
    ([field, name]) => `${name} ${printableLiteral(known[field])}, not ${printableLiteral(wanted[field])}`,
  );
  if (others.length > 0)
    return refuse("state_conflict", [
      `${there}, with ${others.join("; ")}; a price keeps its terms`,
      `价格 ${id} 已存在，且条款不同（${others.join("; ")}）；价格的条款不可更改`,
    ]);
  if (wanted.approved && !known.approved)
    return refuse("state_conflict", [
      `${there}, and not approved: see checkout admin approve-price`,
      `价格 ${id} 已存在但未批准：见 checkout admin approve-price`,
    ]);
  return accept({ price: known, added: false });
}

function whyNot(price: Price | undefined): string {
  if (price === undefined) return "which is not in its catalog: see checkout prices list";
  if (price.retired) return "which is retired: take another one of checkout prices list";
  return "which is not approved: see checkout admin approve-price";
}
