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

test("createRequestsFor derives every accepted create body from the terms of the purchase", () => {
  let bodies: readonly Readonly<Record<string, string | number>>[] = [{}];
  for (const [name, value] of Object.entries(VALUES))
    bodies = bodies.flatMap((body) => [body, { ...body, [name]: value }]);
  const accepted = bodies.map((body) => parseCreateRequest(body)).filter((parsed) => parsed.ok);
  for (const { value } of accepted) {
    const price = "price_id" in value ? PRICE : undefined;
    expect(createRequestsFor(purchaseTerms(value, price))).toContainEqual(value);
  }
  // Each form, without a description and with it.
  expect(accepted.length).toBeGreaterThanOrEqual(4);
});
