import { expect, test } from "vitest";
import { createLeases } from "../../src/sandbox/readiness/leases.ts";

const LEASE = { id: "a-lease", storeId: "a-store" } as const;
const SHOP = { rawHeaders: ["User-Agent", "a-shop/1"] };
const OURS = { rawHeaders: ["User-Agent", "checkout-cli"] };
const PAID = { id: "a-checkout", storeId: "a-store", status: "succeeded" } as const;

test("a retrieve counts as evidence only if it happens during a lease and tells the store's merchant that the checkout is paid", async () => {
  const report = (error: unknown): void => expect.fail(String(error));
  const leases = createLeases({ after: () => () => undefined }, { report, onChange: () => undefined });
  leases.noteRetrieve(SHOP, PAID);
  leases.open({ ...LEASE, drill: "duplicates", since: 0 }, { timeoutMs: 1, undo: () => Promise.resolve() });
  expect(leases.retrievesOf(LEASE)).toEqual([]);
  for (const status of ["created", "pending", "failed", "cancelled", "expired"] as const)
    leases.noteRetrieve(SHOP, { ...PAID, status });
  leases.noteRetrieve(SHOP, { ...PAID, storeId: "another-store" });
  leases.noteRetrieve(OURS, PAID);
  expect(leases.retrievesOf(LEASE)).toEqual([]);
  leases.noteRetrieve(SHOP, PAID);
  leases.noteRetrieve(SHOP, PAID);
  expect(leases.retrievesOf(LEASE)).toEqual(["a-checkout", "a-checkout"]);
  await leases.end(LEASE);
  leases.noteRetrieve(SHOP, PAID);
  expect(leases.retrievesOf(LEASE)).toEqual([]);
});
