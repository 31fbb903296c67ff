import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  parseCreateRequest,
  createRequestsFor,
  purchaseTerms,
  type CreateField,
} from "../../src/core/checkout/create-request.ts";

/** A value for each field of both forms of a create. */
const VALUES: Readonly<Record<CreateField, string | number>> = {
  order_id: "order-1001",
  amount_minor: 1999,
  currency: "EUR",
  payment_method: "alipay_plus",
  description: "Two tickets",
  price_id: "price_coffee",
};
const PRICE = {
  description: "Coffee",
  amountMinor: 300,
  currency: "EUR",
  paymentMethod: "wechat_pay",
} as const;

test("every accepted body is among the bodies that createRequestsFor derives from its terms", () => {
  const names = Object.keys(VALUES) as CreateField[];
  let taken = 0;
  fc.assert(
    fc.property(fc.subarray(names), (some) => {
      const body = Object.fromEntries(some.map((name) => [name, VALUES[name]]));
      const parsed = parseCreateRequest(body);
      if (!parsed.ok) return;
      taken += 1;
      const price = "price_id" in parsed.value ? PRICE : undefined;
      expect(createRequestsFor(purchaseTerms(parsed.value, price))).toContainEqual(parsed.value);
    }),
    { seed: 1, numRuns: 300 },
  );
  expect(taken).toBeGreaterThan(10);
});
