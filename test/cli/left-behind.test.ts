import { expect, test } from "vitest";
import type { OutboundRequest } from "../../src/world.ts";
import { startListening } from "../support/listening.ts";
import { eventually } from "../support/eventually.ts";
import { createHarness, type Harness } from "../support/harness.ts";
import { openWebhookSite } from "../support/webhook-site.ts";

const LOST = { ok: false, failure: "connection_lost", message: "socket hang up" } as const;
const EXEC_PORT = 4777;

/** Loses the requests that `isMeant` selects, from number `first` on (counted from 1); they never reach the sandbox. */
function loseFrom(harness: Harness, first: number, isMeant: (request: OutboundRequest) => boolean): void {
  let count = 0;
  harness.setFault((request, pass) =>
    isMeant(request) && (count += 1) >= first ? Promise.resolve(LOST) : pass(),
  );
}

const isAddingFault = ({ method, url }: OutboundRequest): boolean =>
  method === "POST" && url.endsWith("/faults");

async function list(harness: Harness, command: string): Promise<Record<string, readonly unknown[]>> {
  const { stdout } = await harness.run([...command.split(" "), "--json"]);
  return JSON.parse(stdout) as Record<string, readonly unknown[]>;
}

test("exec leaves no sandbox behind if its second fault cannot be added", async () => {
  const harness = createHarness();
  loseFrom(harness, 2, isAddingFault);
  const line = `exec --port ${EXEC_PORT} --fault slow --fault flaky-network -- npm test`;
  expect((await harness.run(line.split(" "))).code).toBe(7);
  expect(harness.programs).toEqual([]);
  expect(harness.programOn(EXEC_PORT)).toBe(undefined);
});

test("exec leaves no store and no fault in a running sandbox if a fault cannot be added or its program does not exist", async () => {
  const harness = createHarness();
  await harness.start();
  const before = [await list(harness, "stores list"), await list(harness, "faults list")];
  for (const store of ["new", "Sandbox Store"])
    for (const [fails, expected] of [
      [true, 7],
      [false, 127],
    ] as const) {
      loseFrom(harness, fails ? 2 : Infinity, isAddingFault);
      const line = ["exec", "--store", store, "--fault", "slow", "--fault", "flaky-network", "--", "npm"];
      const { code } = await harness.run(line);
      harness.setFault((_request, pass) => pass());
      expect([store, code]).toEqual([store, expected]);
      expect([await list(harness, "stores list"), await list(harness, "faults list")]).toEqual(before);
    }
});

test("faults that exec added to an existing store stay after exec's program has ended", async () => {
  const harness = createHarness();
  await harness.start();
  harness.setProgram(() => Promise.resolve({ ending: "exited", exitCode: 1 }));
  const line = ["exec", "--store", "Sandbox Store", "--fault", "lost-response", "--", "npm"];
  expect((await harness.run(line)).code).toBe(1);
  expect((await list(harness, "faults list"))["faults"]).toMatchObject([{ action: "lose_answer" }]);
});

test("listen --exit-on-disconnect frees its port and leaves its endpoint paused if a request is lost", async () => {
  const site = await openWebhookSite();
  const { harness } = site;
  const listening = await startListening(harness, ["--exit-on-disconnect"]);
  let isLost = false;
  harness.setFault((request, pass) => {
    if (isLost || !request.url.includes("/endpoints/")) return pass();
    isLost = true;
    return Promise.resolve(LOST);
  });
  harness.clock.advance(1000);
  const { code } = await listening.ended;
  expect([code, isLost]).toEqual([7, true]);
  expect(harness.programOn(Number(new URL(listening.ready.url).port))).toBe(undefined);
  expect((await list(harness, "endpoints list"))["endpoints"]).toMatchObject([{ state: "paused" }]);
});

test("checklist run leaves no lease and no paused endpoint behind if it refuses a paid order", async () => {
  const site = await openWebhookSite();
  const { harness } = site;
  const { id } = await site.addEndpoint(site.receiver(3000).url);
  await site.order();
  const order = (await list(harness, "orders list"))["checkouts"]?.[0] as { readonly id: string };
  expect((await harness.run(["sandbox", "pay", order.id])).code).toBe(0);
  const view = ["--order-view", "http://localhost:3000/orders/{order_id}", "--paid-when", "paid"];
  // A store has one lease at a time, so the second drill shows that the lease is free again.
  for (const time of ["first", "second"]) {
    const line = ["checklist", "run", "duplicates", ...view, "--checkout", order.id];
    const { code, stderr } = await harness.run(line);
    expect([time, code, stderr]).toEqual([time, 5, expect.stringContaining("(state_conflict)")]);
    expect((await list(harness, "endpoints list"))["endpoints"]).toMatchObject([{ id, state: "enabled" }]);
  }
});

test("sandbox start --detach leaves no process behind if its ready line cannot be printed", async () => {
  const harness = createHarness();
  const { code, stderr } = await harness.run(["sandbox", "start", "--detach", "--json"], {
    world: { isResultLost: () => true },
  });
  expect([code, JSON.parse(stderr)]).toMatchObject([1, { error: { code: "output_failed" } }]);
  expect((await harness.run(["sandbox", "status"])).code).toBe(7);
  await eventually("its folder is free", async () =>
    expect(JSON.parse((await harness.run(["sandbox", "stop", "--json"])).stdout)).toMatchObject({
      stopped: false,
    }),
  );
});
