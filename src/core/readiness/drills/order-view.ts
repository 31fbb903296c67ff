/**
 * What the merchant's page says about the order; `unknown` if it could not be read. `got` is the answer, for people.
 */
export type OrderView = { readonly says: "paid" | "not_paid" | "unknown"; readonly got: string };

/** What a view said, for people. */
export function sayOf({ says, got }: OrderView): string {
  return `${says.replace("_", " ")}: ${got}`;
}
