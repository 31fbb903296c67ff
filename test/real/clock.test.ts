import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { REAL } from "../support/real.ts";

test("a sleep of negative length ends without a Node warning", async () => {
  const warnings: string[] = [];
  const note = ({ name }: Error): void => void warnings.push(name);
  process.on("warning", note);
  await REAL.sleep(-0.001);
  await nextTurn();
  process.off("warning", note);
  expect(warnings).toEqual([]);
});
