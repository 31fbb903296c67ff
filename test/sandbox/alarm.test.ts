import { expect, test } from "vitest";
import { createAlarm } from "../../src/sandbox/runtime/alarm.ts";
import { createHarness } from "../support/harness.ts";

test("an alarm fires only for the keys that are due, and fires again for a key whose work failed", async () => {
  const { clock } = createHarness();
  const start = clock.now();
  const rung: (readonly string[])[] = [];
  let fails = true;
  const ring = (keys: readonly string[]): Promise<void> => {
    rung.push(keys);
    if (!fails || !keys.includes("late")) return Promise.resolve();
    fails = false;
    return Promise.reject(new Error("locked"));
  };
  const alarm = createAlarm(clock, { ring, report: () => undefined });
  alarm.expect("far", start + 200_000);
  alarm.expect("late", start + 5000);
  alarm.expect("soon", start + 1000);
  alarm.expect("soon", start + 9000);
  await clock.sleep(1000);
  expect(rung).toEqual([["soon"]]);
  await clock.sleep(4000);
  await clock.sleep(1000);
  expect(rung).toEqual([["soon"], ["late"], ["late"]]);
  await clock.sleep(194_000);
  expect(rung.at(-1)).toEqual(["far"]);
  expect(rung).toHaveLength(4);
});
