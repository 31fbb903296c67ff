import { expect, test } from "vitest";
import { accept, type Outcome } from "../../src/core/outcome.ts";
import { createStoreGate, type ReadStoreId } from "../../src/sandbox/runtime/store-gate.ts";

/** A gate on the test's clock, with a record of its steps. */
function openGate() {
  const timers: (() => void)[] = [];
  const gate = createStoreGate({ after: (_ms, run) => void timers.push(run) }, () => undefined);
  const happened: string[] = [];
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const let10sPass = async (): Promise<void> => {
    for (const run of timers.splice(0)) run();
    await settle();
  };
  const visit =
    (storeId: string | undefined): ReadStoreId =>
    () =>
      storeId;
  const enter = async (name: string, one: ReadStoreId): Promise<void> => {
    await gate.enter(one);
    happened.push(`${name} in`);
  };
  const erase = async (
    name: string,
    storeIds: readonly string[],
    work: () => Promise<unknown>,
  ): Promise<void> => {
    const done: Outcome<unknown> = await gate.runAlone(storeIds, async () => {
      happened.push(`${name} begins`);
      return accept(await work());
    });
    happened.push(`${name} ${done.ok ? "done" : done.refusal.code}`);
  };
  return { gate, happened, settle, let10sPass, visit, enter, erase };
}

function gated(): { readonly work: () => Promise<void>; readonly end: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { work: () => promise, end: resolve };
}

test("the reset or deletion of a store waits only for the open requests to that store", async () => {
  const { gate, happened, settle, visit, enter, erase } = openGate();
  const [one, other, nobody] = [visit("a"), visit("b"), visit(undefined)];
  for (const [name, each] of Object.entries({ one, other, nobody })) await enter(name, each);
  const erasure = gated();
  const erased = erase("reset", ["a"], erasure.work);
  await settle();
  expect([happened.splice(0), gate.isClosed("a"), gate.isClosed("b")]).toEqual([
    ["one in", "other in", "nobody in"],
    true,
    false,
  ]);
  const late = [
    enter("late", visit("a")),
    enter("late other", visit("b")),
    enter("late nobody", visit(undefined)),
  ];
  await settle();
  expect(happened.splice(0)).toEqual(["late other in", "late nobody in"]);
  gate.leave(other);
  await settle();
  expect(happened).toEqual([]);
  gate.leave(one);
  await settle();
  expect(happened.splice(0)).toEqual(["reset begins"]);
  erasure.end();
  await Promise.all([erased, ...late]);
  expect(happened.toSorted()).toEqual(["late in", "reset done"]);
  expect(gate.isClosed("a")).toBe(false);
});

test("a reset that waits too long for open requests is refused, and a request to a store waits for the end of its reset", async () => {
  const { gate, happened, settle, let10sPass, visit, enter, erase } = openGate();
  const open = visit("a");
  await enter("open", open);
  const erased = erase("reset", ["a"], () => Promise.resolve());
  await settle();
  const late = enter("late", visit("a"));
  await settle();
  await let10sPass();
  await Promise.all([erased, late]);
  expect(happened.splice(0)[0]).toBe("open in");
  expect(gate.isClosed("a")).toBe(false);
  await enter("next", visit("a"));
  expect(happened.splice(0)).toEqual(["next in"]);

  gate.leave(open);
  const slow = gated();
  const second = erase("reset", ["b"], slow.work);
  await settle();
  const waits = enter("waits", visit("b"));
  await settle();
  await let10sPass();
  expect(happened.splice(0)).toEqual(["reset begins"]);
  slow.end();
  await Promise.all([second, waits]);
  expect(happened.toSorted()).toEqual(["reset done", "waits in"]);
});

test("resets of one store run one after the other, and a failed reset lets requests in again", async () => {
  const { gate, happened, settle, erase } = openGate();
  const first = gated();
  const failing = gate.runAlone(["a", "b"], async () => {
    await first.work();
    throw new Error("the disk is full");
  });
  await settle();
  const second = erase("second", ["b", "c"], () => Promise.resolve());
  const apart = erase("apart", ["d"], () => Promise.resolve());
  await settle();
  expect(happened.splice(0)).toEqual(["apart begins", "apart done"]);
  first.end();
  await expect(failing).rejects.toThrow("disk is full");
  await Promise.all([second, apart]);
  expect(happened).toEqual(["second begins", "second done"]);
  expect(["a", "b", "c", "d"].map(gate.isClosed)).toEqual([false, false, false, false]);
});

test("a request that waited for a store proceeds after the deletion, and finds no store", async () => {
  const { happened, settle, enter, erase } = openGate();
  let isThere = true;
  const erased = erase("delete", ["a"], async () => {
    await settle();
    isThere = false;
  });
  await enter("late", () => (isThere ? "a" : undefined));
  await erased;
  expect(happened.toSorted()).toEqual(["delete begins", "delete done", "late in"]);
});
