import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { createHarness, type Harness, type RunningSandbox } from "../support/harness.ts";
import { insertion } from "../support/rows.ts";

async function ask(harness: Harness, command: string): Promise<string> {
  const { code, stdout, stderr } = await harness.run(command.split(" "));
  expect([command, code, stderr]).toEqual([command, 0, expect.any(String)]);
  return stdout;
}

/** Opens the database of a sandbox for `use`. */
function withRows<Value>({ cwd }: Harness, use: (database: Database.Database) => Value): Value {
  const database = new Database(join(cwd, ".checkout/sandbox.db"));
  try {
    return use(database);
  } finally {
    database.close();
  }
}

const heldStores = (harness: Harness): unknown[] =>
  withRows(harness, (database) => database.prepare("SELECT store_id FROM lease_effects").pluck().all());

/** The number of faults of the selected store, and the time by which its clock was advanced. */
async function effects(harness: Harness) {
  const { faults } = JSON.parse(await ask(harness, "faults list --json")) as { faults: unknown[] };
  const { now } = JSON.parse(await ask(harness, "sandbox clock show --json")) as { now: string };
  return { faults: faults.length, aheadMs: Date.parse(now) - harness.clock.now() };
}

async function openLease(harness: Harness, sandbox: RunningSandbox, drill = "explore"): Promise<string> {
  const { control_token: token } = JSON.parse(harness.readState("run.json")) as { control_token: string };
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const path = "/__sandbox/stores/default/leases";
  const body = JSON.stringify({ drill, timeout_ms: 60_000 });
  const answer = await sandbox.request({ method: "POST", path, headers, body });
  expect([answer.status, String(answer.body)]).toEqual([200, expect.any(String)]);
  return (JSON.parse(String(answer.body)) as { data: { id: string } }).data.id;
}

test("an exploration is recorded on disk until the end of its lease undoes the exploration's effects", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  await openLease(harness, sandbox);
  expect(heldStores(harness)).toEqual([sandbox.ready.store_id]);
  await ask(harness, "faults add drop");
  await ask(harness, "sandbox clock advance 2h");
  expect(await effects(harness)).toEqual({ faults: 1, aheadMs: 2 * 3_600_000 });
  await sandbox.stop();
  expect(heldStores(harness)).toEqual([]);
  await harness.start();
  expect(await effects(harness)).toEqual({ faults: 0, aheadMs: 0 });
});

test("a start undoes the effects of a killed sandbox's exploration, and changes nothing in other stores", async () => {
  const harness = createHarness();
  const before = await harness.start();
  await ask(harness, "stores create --name Tea");
  await ask(harness, "orders create --order-id order-1 --price-id price_coffee");
  for (const store of ["", " --store Tea"]) {
    await ask(harness, `faults add drop${store}`);
    await ask(harness, `sandbox clock advance 30m${store}`);
  }
  await before.stop();
  // The state after a kill: the leases in memory are gone, and one of the stores was deleted.
  withRows(harness, (database) => {
    for (const store_id of [before.ready.store_id, "0199a3c4-5d00-7000-8000-0000000000ff"])
      database.exec(insertion("lease_effects", { lease_id: store_id, store_id }));
  });
  // An hour and ten minutes pass by the advanced clock, and 40 minutes by the real clock: the order must not expire.
  harness.clock.advance(40 * 60_000);
  await harness.start();
  expect(heldStores(harness)).toEqual([]);
  expect(await effects(harness)).toEqual({ faults: 0, aheadMs: 0 });
  expect(JSON.parse(await ask(harness, "orders get order-1 --json"))).toMatchObject({ status: "created" });
  await ask(harness, "stores use Tea");
  expect(await effects(harness)).toEqual({ faults: 1, aheadMs: 30 * 60_000 });
});

test("a start removes the faults that a run of a killed sandbox left, and no other faults", async () => {
  const harness = createHarness();
  const before = await harness.start();
  await ask(harness, "faults add drop");
  const added = JSON.parse(await ask(harness, "faults add delay --json")) as { fault: { id: string } };
  await before.stop();
  const { store_id } = before.ready;
  withRows(harness, (database) => {
    for (const fault_id of [added.fault.id, "0199a3c4-5d00-7000-8000-0000000000ff"])
      database.exec(insertion("lease_effects", { lease_id: "l", store_id, fault_id }));
  });
  await harness.start();
  expect(heldStores(harness)).toEqual([]);
  const { faults } = JSON.parse(await ask(harness, "faults list --json")) as { faults: unknown[] };
  expect(faults).toEqual([expect.objectContaining({ action: "drop" })]);
});

test("the faults of a run are recorded on disk until the run's lease ends", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const lease = await openLease(harness, sandbox, "duplicates");
  const { control_token: token } = JSON.parse(harness.readState("run.json")) as { control_token: string };
  const headers = {
    Authorization: `Bearer ${token}`,
    "Content-Type": "application/json",
    "Checkout-Sandbox-Lease": lease,
  };
  const path = "/__sandbox/stores/default/faults";
  const body = JSON.stringify({ action: "drop" });
  const answer = await sandbox.request({ method: "POST", path, headers, body });
  expect([answer.status, heldStores(harness)]).toEqual([200, [sandbox.ready.store_id]]);
  await ask(harness, "faults add delay");
  await sandbox.stop();
  expect(heldStores(harness)).toEqual([]);
  await harness.start();
  expect((await effects(harness)).faults).toBe(1);
});
