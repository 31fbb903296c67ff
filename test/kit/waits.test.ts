import { expect, onTestFinished, test } from "vitest";
import { startSandbox } from "../../src/testing/testing.ts";
import { createLog } from "../../src/testing/store/log.ts";
import { inOrder } from "../support/in-order.ts";

/** A log that counts its reads and its listeners. */
function countedLog() {
  const items: string[] = [];
  const hearers = new Set<() => void>();
  let reads = 0;
  /** Called between a read of the items and its answer. */
  let meanwhile = (): void => undefined;
  const log = createLog<string>({
    world: {
      sleep: (milliseconds, signal) =>
        milliseconds === 0
          ? Promise.resolve()
          : new Promise((resolve) => {
              signal?.addEventListener("abort", () => resolve());
            }),
    },
    waitTimeoutMs: 5000,
    noun: "item",
    fields: null,
    open: () => {
      let from = 0;
      return async () => {
        reads += 1;
        const found = items.slice(from);
        from = items.length;
        const during = meanwhile;
        meanwhile = () => undefined;
        during();
        return found;
      };
    },
    follow: (hear) => {
      hearers.add(hear);
      return () => void hearers.delete(hear);
    },
    isClosed: () => false,
    names: (item) => [item],
    line: (item) => item,
  });
  const write = (item: string): void => {
    items.push(item);
    hearers.forEach((hear) => hear());
  };
  return {
    log,
    write,
    reads: () => reads,
    hearers,
    duringNextRead: (run: () => void) => void (meanwhile = run),
  };
}

test("after a write the kit reads the log once for all waiters, and not at all if no waiter is left", async () => {
  const { log, write, reads, hearers } = countedLog();
  write("before");
  const waits = Array.from({ length: 100 }, (_, at) => log.waitFor(`item-${at % 10}`));
  const earlier = await Promise.all([log.waitFor("before"), log.waitFor("before", { timeoutMs: 0 })]);
  expect(earlier).toEqual(["before", "before"]);
  const begun = reads();
  expect(begun).toBe(102);
  for (let at = 0; at < 10; at += 1) {
    write(`item-${at}`);
    await waits[at];
  }
  expect(new Set(await Promise.all(waits)).size).toBe(10);
  expect(reads() - begun).toBe(10);
  expect(hearers.size).toBe(0);
  write("after");
  expect(reads() - begun).toBe(10);
  await expect(log.waitFor("item-11", { timeoutMs: 0 })).rejects.toThrow(
    inOrder('"item-11"', " 0 ms; 12 ", ":\n  before\n"),
  );
});

test("a wait does not miss a write that happens while it reads the log", async () => {
  const { log, write, duringNextRead } = countedLog();
  duringNextRead(() => write("first"));
  const wait = log.waitFor("first");
  expect(await wait).toBe("first");
  const [found, other] = [log.waitFor("third"), log.waitFor("second")];
  duringNextRead(() => write("third"));
  write("second");
  expect(await Promise.all([found, other])).toEqual(["third", "second"]);
});

test("a waiter whose filter throws fails, and the other waiters continue", async () => {
  const { log, write } = countedLog();
  const waits = Promise.allSettled([
    log.waitFor(() => {
      throw new Error("a mistake");
    }),
    log.waitFor("item"),
  ]);
  write("item");
  expect(await waits).toMatchObject([
    { status: "rejected", reason: { message: "a mistake" } },
    { value: "item" },
  ]);
});

test("the option count waits for a duplicate, and the error of a timed-out wait says how many deliveries arrived", async () => {
  const { store } = await openStore();
  await store.receiver();
  await store.faults.add({ action: "duplicate", match: { eventType: "order.succeeded" } });
  const { id } = await store.orders.create({ order_id: "order-1", price_id: "price_coffee" });
  await store.pay(id);
  const [first, second] = [
    await store.deliveries.waitFor("order.succeeded"),
    await store.deliveries.waitFor("order.succeeded", { count: 2 }),
  ];
  expect([second.eventId, second.id === first.id]).toEqual([first.eventId, false]);
  await expect(store.deliveries.waitFor("order.succeeded", { count: 3, timeoutMs: 0 })).rejects.toThrow(
    inOrder("2", "3", '"order.succeeded"', " 0 ms"),
  );
  await expect(store.deliveries.waitFor("order.succeeded", { count: 0 })).rejects.toThrow("count");
});

/** A sandbox in this process, which is closed after the test, and a store. */
async function openStore() {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  return { sandbox, store: await sandbox.createStore() };
}
