import { expect, test } from "vitest";
import { createTurnQueue } from "../../src/core/mutex.ts";

test("the turn queue runs one turn at a time, and starts the next turn while a turn awaits work outside the queue", async () => {
  const { run: inTurn } = createTurnQueue();
  const seen: string[] = [];
  const waited = Promise.withResolvers<void>();
  const first = inTurn(async (aside) => {
    seen.push("first begins");
    await aside(() => waited.promise);
    seen.push("first goes on");
  });
  const second = inTurn(async () => {
    seen.push("second begins");
    waited.resolve();
    await Promise.resolve();
    seen.push("second ends");
  });
  await Promise.all([first, second]);
  expect(seen).toEqual(["first begins", "second begins", "second ends", "first goes on"]);
});

test("the turn queue ends a turn when its work fails, even if the work outside the queue fails", async () => {
  const { run: inTurn } = createTurnQueue();
  const failing = inTurn((aside) => aside(() => Promise.reject(new Error("failed aside"))));
  const later = inTurn(() => Promise.reject(new Error("failed")));
  await expect(failing).rejects.toThrow("failed aside");
  await expect(later).rejects.toThrow("failed");
  await inTurn(async () => undefined);
});

test("the turn queue runs as many turns at the same time as its limit allows, even after the limit changes", async () => {
  const { run, setLimit } = createTurnQueue(2);
  const begun: number[] = [];
  const ends = [1, 2, 3, 4, 5].map((number) => {
    const end = Promise.withResolvers<void>();
    void run(() => {
      begun.push(number);
      return end.promise;
    });
    return end.resolve;
  });
  const settle = () => new Promise(setImmediate);
  await settle();
  expect(begun).toEqual([1, 2]);
  setLimit(3);
  await settle();
  expect(begun).toEqual([1, 2, 3]);
  setLimit(1);
  ends[0]?.();
  ends[1]?.();
  await settle();
  expect(begun).toEqual([1, 2, 3]);
  ends[2]?.();
  await settle();
  expect(begun).toEqual([1, 2, 3, 4]);
  ends.forEach((end) => end());
});
