import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { API_ACTIONS, DELIVERY_ACTIONS, FAULT_ACTIONS } from "../../src/core/fault/actions.ts";
import { english } from "../../src/core/language.ts";
import { NOT_JUDGED_REASONS } from "../../src/core/readiness/drills/judge-sentences.ts";
import { englishOf, factOf } from "../../src/core/readiness/drills/said.ts";
import { READINESS_SENTENCES } from "../../src/core/readiness/sentences.ts";
import { CHECKLIST_ITEMS } from "../../src/core/readiness/names.ts";
import { eventually } from "../support/eventually.ts";
import { createHarness, EPHEMERAL, type CommandOptions } from "../support/harness.ts";
import {
  exploreShop,
  installShop,
  openRunningShop,
  KILLED_SHOPS,
  SHOP_ARGS,
  STEADY_SHOPS,
} from "../support/killed-shops.ts";
import { FINDINGS } from "../support/broken.table.ts";
import { refusalText } from "../support/refusal-texts.ts";

test("explore passes a shop that survives every kill", async () => {
  const [code, found] = await exploreShop(STEADY_SHOPS, "books slowly, in one transaction", 1);
  expect([code, found.broken, found.held]).toEqual([0, [], found.schedules]);
  expect(found.not_judged).toEqual([]);
  const rows = found.table.map(({ place, held, not_judged: open }) => [place, held.length, open]);
  expect(rows).toEqual([
    // Each fault and a kill; for an event also a kill after its answer.
    ["POST /v1/orders 1", API_ACTIONS.length + 1, []],
    ["order.created 1", DELIVERY_ACTIONS.length + 2, []],
    ["order.pending 1", DELIVERY_ACTIONS.length + 2, []],
    ["order.succeeded 1", DELIVERY_ACTIONS.length + 1, ["drop"]],
    ["payer", 6, []],
  ]);
});

test("explore reports a shop that a kill breaks, with the command that repeats the finding", async () => {
  const name = "stores the event id, and books later";
  const harness = createHarness();
  const { [name]: shop } = KILLED_SHOPS;
  if (shop === undefined) throw new Error("it is in the table");
  installShop(harness, shop);
  const only = '[{"action":"kill","match":{"event_type":"order.succeeded","nth":1}}]';
  const line = ["explore", "--only", only, "--junit", "explore.xml", ...SHOP_ARGS];
  const { code, stdout, stderr } = await harness.run(line);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/ 1 /)]);
  expect(stdout).toContain(englishOf(factOf("acknowledged_only")));
  expect(stdout).toContain(
    `checkout explore --serve serve --receiver-path /hooks --order-view '/orders/{order_id}' --only '${only}' -- client`,
  );
  expect(stdout).toMatch(/^order\.succeeded 1 +0 +kill/m);
  const xml = readFileSync(join(harness.cwd, "explore.xml"), "utf8");
  expect(xml).toContain('<testsuites name="checkout explore" tests="13" failures="1" errors="0">');
  expect(xml).toContain('<failure type="acknowledged_only"');
  expect(xml).toContain(`<skipped message="${english(NOT_JUDGED_REASONS.nothing_failed)}"/>`);
  const payer = await harness.run(["explore", "--json", "--only", "[]", "--payer", "failed", ...SHOP_ARGS]);
  expect([payer.code, payer.stdout]).toEqual([0, expect.stringContaining('"schedules":1,"held":1')]);
});

test("explore reports a secret in the view of an order", async () => {
  const harness = createHarness();
  const { "books and stores the event id in one transaction": onlyBooks } = STEADY_SHOPS;
  if (onlyBooks === undefined) throw new Error("it is in the table");
  installShop(harness, { ...onlyBooks, showsSecret: true });
  const { code, stdout } = await harness.run(["explore", "--json", "--only", "[]", ...SHOP_ARGS]);
  expect([code, stdout]).toEqual([1, expect.stringContaining('"cause":"secret_in_view"')]);
});

test("the advice of explore for a view without bookings names the missing JSON field", async () => {
  const harness = createHarness();
  installShop(harness, {
    onHook: ({ status, disk }) => {
      disk.paid = status === "succeeded";
    },
    showsStatus: true,
  });
  const { stdout } = await harness.run(["explore", "--json", "--only", "[]", ...SHOP_ARGS]);
  expect(stdout).toContain(english(NOT_JUDGED_REASONS.status_alone("amount_minor")));
});

test("explore exits with 3 if the shop does not start, and refuses incomplete options", async () => {
  const harness = createHarness();
  installShop(harness, { onHook: () => undefined, onStart: () => false });
  const idle = await harness.run(["explore", "--json", ...SHOP_ARGS]);
  expect([idle.code, idle.stderr]).toEqual([3, expect.stringContaining('"code":"nothing_learned"')]);
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

test("the table of expected findings of explore has exactly the shops that a kill breaks", () => {
  expect(Object.keys(KILLED_SHOPS)).toEqual(Object.keys(FINDINGS.exploreKilled));
});

/**
 * A running shop in the running sandbox's store. `left` reads the faults, whether the clock is frozen, and whether it
 * shows the real time.
 */
async function runningShop(name: string, events = "*") {
  const harness = createHarness();
  const { ready } = await harness.start();
  const { [name]: shop } = STEADY_SHOPS;
  if (shop === undefined) throw new Error(`no shop ${name}`);
  openRunningShop(harness, shop, ready.signing_secret);
  await harness.run(["endpoints", "add", "http://localhost:3000/hooks", "--events", events]);
  const words = "--receiver http://localhost:3000/hooks --order-view /orders/{order_id} -- client";
  return {
    harness,
    explore: (options: readonly string[], command: CommandOptions = {}) =>
      harness.run(["explore", "--json", "--seed", "s", ...options, ...words.split(" ")], command),
    left: async () => {
      const [faults, clock] = [
        await harness.run(["faults", "list", "--json"]),
        await harness.run(["sandbox", "clock", "show", "--json"]),
      ];
      const { frozen, now } = JSON.parse(clock.stdout) as { readonly frozen: boolean; readonly now: string };
      const { faults: list } = JSON.parse(faults.stdout) as { readonly faults: readonly unknown[] };
      return [list, frozen, Date.parse(now) === harness.clock.now()];
    },
  };
}

test("explore runs every schedule in the store of a running shop, and leaves no fault and no moved clock behind", async () => {
  // Fewer events leave fewer places for faults.
  const { harness, explore, left } = await runningShop(
    "books and stores the event id in one transaction",
    "order.succeeded",
  );
  const { code, stdout } = await explore(["--depth", "1"]);
  const found = JSON.parse(stdout) as { readonly schedules: number; readonly held: number };
  // Without a fault, each fault at the create and at the event, and six other ends of the payment.
  const all = 1 + FAULT_ACTIONS.length + 6;
  expect([code, found.held, found.schedules]).toEqual([0, all, all]);
  expect(await left()).toEqual([[], false, true]);
  const { stdout: orders } = await harness.run(["orders", "list", "--json", "--limit", "200"]);
  const ids = (JSON.parse(orders) as { readonly checkouts: readonly { readonly order_id: string }[] })
    .checkouts;
  expect(new Set(ids.map((one) => one.order_id)).size).toBe(all);
});

test("a killed exploration of a running shop leaves no fault and no moved clock behind", async () => {
  const { harness, explore, left } = await runningShop("books and stores the event id in one transaction");
  const kill = new AbortController();
  let runs = 0;
  harness.setFault((request, deliver) => {
    runs += Number(request.url.endsWith("/faults"));
    if (runs === 20) kill.abort();
    return deliver();
  });
  void explore(["--depth", "1"], { killed: kill.signal });
  await eventually("it was killed", () => expect(kill.signal.aborted).toBe(true));
  await eventually("the lease has ended", async () => expect(await left()).toEqual([[], false, true]));
});

test("a control API call with an ended lease is refused and changes nothing", async () => {
  const harness = createHarness();
  const { ready, request } = await harness.start(EPHEMERAL);
  const call = (path: string, body: object, lease = {}) =>
    request({
      path: `/__sandbox/stores/default/${path}`,
      headers: {
        Authorization: `Bearer ${ready.control_token ?? ""}`,
        "Content-Type": "application/json",
        ...lease,
      },
      body: JSON.stringify(body),
    });
  const opened = await call("leases", { drill: "explore", timeout_ms: 60_000 });
  const { id } = (JSON.parse(String(opened.body)) as { readonly data: { readonly id: string } }).data;
  const named = { "Checkout-Sandbox-Lease": id };
  expect((await call("faults", { action: "drop", times: 5 }, named)).status).toBe(200);
  await call(`leases/${id}/end`, {});
  expect((await call("faults", { action: "drop", times: 5 }, named)).status).toBe(404);
  expect((await call("clock", { action: "advance", by_ms: 5 }, named)).status).toBe(404);
  const faults = await harness.run(["faults", "list", "--json"]);
  expect(faults.stdout).toContain('"faults":[]');
});

test("explore refuses a store with faults or a moved clock, and a receiver that is not an endpoint of the store", async () => {
  const { harness, explore, left } = await runningShop("books and stores the event id in one transaction");
  await harness.run(["faults", "add", "latency", "--times", "5"]);
  const faulty = await explore(["--depth", "1"]);
  expect([faulty.code, faulty.stderr]).toEqual([5, expect.stringMatching(refusalText("store_has_faults"))]);
  await harness.run(["faults", "clear"]);
  await harness.run(["sandbox", "clock", "advance", "1h"]);
  const moved = await explore(["--depth", "1"]);
  expect([moved.code, moved.stderr]).toEqual([5, expect.stringMatching(refusalText("clock_was_moved"))]);
  await harness.run(["sandbox", "clock", "real"]);
  const other = ["explore", "--receiver", "http://localhost:3000/other", "--", "client"];
  const unknown = await harness.run(other);
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("checkout endpoints add")]);
  expect(await left()).toEqual([[], false, true]);
});

test("an exploration is recorded in the running sandbox and shown by the checklist", async () => {
  const { harness, explore } = await runningShop("books and stores the event id in one transaction");
  await explore(["--depth", "1", "--budget", "1ms"]);
  const { stdout } = await harness.run(["checklist", "--json"]);
  const { exploration, items } = JSON.parse(stdout) as {
    readonly exploration: {
      readonly schedules: number;
      readonly broken: number;
      readonly not_judged: number;
      readonly at: string;
    };
    readonly items: readonly unknown[];
  };
  expect([exploration.schedules >= 1, exploration.broken, items.length]).toEqual([
    true,
    0,
    CHECKLIST_ITEMS.length,
  ]);
  harness.clock.advance(2 * 3_600_000);
  const text = await harness.run(["checklist"]);
  const { schedules, not_judged: open } = exploration;
  const explored = english(READINESS_SENTENCES.explored(schedules, 0, open));
  expect(text.stdout).toContain(`${explored}, 2 h`);
  // A single schedule is not recorded as an exploration.
  await explore(["--only", "[]"]);
  expect((await harness.run(["checklist"])).stdout).toContain(`${explored}, 2 h`);
});
