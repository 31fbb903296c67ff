import { expect, test } from "vitest";
import { checkoutJson, checkoutJsonWith } from "../../src/core/checkout/wire.ts";
import { aCheckout } from "../support/rows.ts";

const ORIGIN = "http://127.0.0.1:8765";
const CHECKOUT = aCheckout({ id: "0199a3c4-5d00-7000-8000-000000000001" });

test("the bytes of an older version have every field that the wire has always had", () => {
  const bytes = checkoutJson(CHECKOUT, ORIGIN);
  const fields = Object.keys(JSON.parse(bytes) as object);
  expect(checkoutJsonWith([...fields, "customer_email"], CHECKOUT, ORIGIN)).toBe(bytes);
  for (const left of fields) {
    const others = fields.filter((field) => field !== left);
    expect([left, checkoutJsonWith(others, CHECKOUT, ORIGIN)]).toEqual([left, undefined]);
  }
});
