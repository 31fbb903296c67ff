import { expect, test } from "vitest";
import { createTurnQueue } from "../../src/core/mutex.ts";

test("turns run one after the other, but the next turn runs while a turn steps aside", async () => {
  const inTurn = createTurnQueue();
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

test("a turn ends when its work fails, even while the work steps aside", async () => {
  const inTurn = createTurnQueue();
  const failing = inTurn((aside) => aside(() => Promise.reject(new Error("failed aside"))));
  const later = inTurn(() => Promise.reject(new Error("failed")));
  await expect(failing).rejects.toThrow("failed aside");
  await expect(later).rejects.toThrow("failed");
  await inTurn(async () => undefined);
});
