import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createHarness } from "../support/harness.ts";
import { exploreShop, installShop, KILLED_SHOPS, SERVED, STEADY_SHOPS } from "../support/killed-shops.ts";
import { BROKEN } from "../support/broken.table.ts";

test("a served shop that can be killed at any moment holds", async () => {
  const [code, found] = await exploreShop(STEADY_SHOPS, "takes its time, and books in one transaction", 1);
  expect([code, found.broken, found.held]).toEqual([0, [], found.schedules]);
  expect(found.not_judged.map(({ invariant }) => invariant)).toEqual(["secrets_kept"]);
  const rows = found.table.map(({ place, held, not_judged: open }) => [place, held.length, open]);
  expect(rows).toEqual([
    ["POST /v1/orders 1", 11, []],
    ["order.created 1", 10, []],
    ["order.pending 1", 10, []],
    ["order.succeeded 1", 9, ["drop"]],
    ["payer", 6, []],
  ]);
});

test("a served shop that a kill breaks is found, told, and run again by the line that is told", async () => {
  const name = "stores the event id, and books later";
  const harness = createHarness();
  const { [name]: shop } = KILLED_SHOPS;
  if (shop === undefined) throw new Error("it is in the table");
  installShop(harness, shop);
  const only = '[{"action":"kill","match":{"event_type":"order.succeeded","nth":1}}]';
  const line = ["explore", "--only", only, "--junit", "explore.xml", ...SERVED];
  const { code, stdout, stderr } = await harness.run(line);
  expect([code, stderr]).toEqual([1, expect.stringContaining("1 broken so far")]);
  expect(stdout).toContain("It answered 2xx to the event of the payment, and did not book it.");
  expect(stdout).toContain(
    `checkout explore --serve serve --receiver-path /hooks --order-view '/orders/{order_id}' --only '${only}' -- client`,
  );
  expect(stdout).toContain("order.succeeded 1  0     kill");
  const xml = readFileSync(join(harness.cwd, "explore.xml"), "utf8");
  expect(xml).toContain('<testsuites name="checkout explore" tests="9" failures="1" errors="0">');
  expect(xml).toContain('<failure type="acknowledged_only"');
  expect(xml).toContain('<skipped message="no purchase failed, so none had to recover"/>');
  const payer = await harness.run(["explore", "--json", "--only", "[]", "--payer", "failed", ...SERVED]);
  expect([payer.code, payer.stdout]).toEqual([0, expect.stringContaining('"schedules":1,"held":1')]);
});

test("a shop that does not start teaches nothing, and options that do not fit are refused", async () => {
  const harness = createHarness();
  installShop(harness, { onHook: () => undefined, onStart: () => false });
  const idle = await harness.run(["explore", ...SERVED]);
  expect([idle.code, idle.stderr]).toEqual([3, expect.stringContaining("the shop did not start")]);
  for (const words of [
    ["--serve", "serve"],
    ["--receiver-path", "/hooks"],
    ["--serve", "serve", "--receiver-path", "hooks"],
    ["--order-view", "/orders/{order_id}"],
    ["--payer", "failed"],
  ]) {
    const { code } = await harness.run(["explore", ...words, "--", "client"]);
    expect([words, code]).toEqual([words, 2]);
  }
});

test("each shop that is killed is in the table", () => {
  expect(Object.keys(KILLED_SHOPS)).toEqual(Object.keys(BROKEN.exploreKilled));
});
