import { expect, test } from "vitest";
import { checkoutJson, checkoutJsonWith } from "../../src/core/checkout/wire.ts";

const ORIGIN = "http://127.0.0.1:8765";
const CHECKOUT = {
  id: "0199a3c4-5d00-7000-8000-000000000001",
  storeId: "0199a3c4-5d00-7000-8000-000000000002",
  object: "order",
  orderId: "order-1",
  amountMinor: 1999,
  currency: "EUR",
  paymentMethod: "alipay_plus",
  description: null,
  priceId: null,
  status: "created",
  createdAt: 0,
  expiresAt: 1,
} as const;

test("the bytes of an older version have every field that the wire has always had", () => {
  const bytes = checkoutJson(CHECKOUT, ORIGIN);
  const fields = Object.keys(JSON.parse(bytes) as object);
  expect(checkoutJsonWith([...fields, "customer_email"], CHECKOUT, ORIGIN)).toBe(bytes);
  for (const left of fields) {
    const others = fields.filter((field) => field !== left);
    expect([left, checkoutJsonWith(others, CHECKOUT, ORIGIN)]).toEqual([left, undefined]);
  }
});
