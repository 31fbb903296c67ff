import { expect, test } from "vitest";
import { createRetrieveWatch } from "../../src/sandbox/readiness/retrieve-watch.ts";

const LEASE = { id: "a-lease", storeId: "a-store" } as const;
const SHOP = { rawHeaders: ["User-Agent", "a-shop/1"] };
const OURS = { rawHeaders: ["User-Agent", "checkout-cli"] };
const PAID = { id: "a-checkout", storeId: "a-store", status: "succeeded" } as const;

test("a retrieve is evidence if it told its store's merchant that the checkout is paid", () => {
  const watch = createRetrieveWatch();
  watch.look(SHOP, PAID);
  watch.begin(LEASE);
  expect(watch.of(LEASE)).toEqual([]);
  for (const status of ["created", "pending", "failed", "cancelled", "expired"] as const)
    watch.look(SHOP, { ...PAID, status });
  watch.look(SHOP, { ...PAID, storeId: "another-store" });
  watch.look(OURS, PAID);
  expect(watch.of(LEASE)).toEqual([]);
  watch.look(SHOP, PAID);
  watch.look(SHOP, PAID);
  expect(watch.of(LEASE)).toEqual(["a-checkout", "a-checkout"]);
  watch.forget(LEASE);
  watch.look(SHOP, PAID);
  expect(watch.of(LEASE)).toEqual([]);
});
