import { expect, test } from "vitest";
import { onStop } from "../../src/world/processes.ts";

test("concurrent commands in one process share one signal listener", () => {
  const before = process.listenerCount("SIGHUP");
  const told: string[] = [];
  const ends = Array.from({ length: 12 }, (_, at) => onStop((signal) => void told.push(`${at} ${signal}`)));
  expect(process.listenerCount("SIGHUP")).toBeLessThanOrEqual(before + 1);
  ends[3]?.();
  ends[3]?.();
  process.emit("SIGHUP", "SIGHUP");
  expect(told).toEqual(Array.from({ length: 12 }, (_, at) => `${at} SIGHUP`).filter((_, at) => at !== 3));
  for (const end of ends) end();
  expect(process.listenerCount("SIGHUP")).toBe(before);
});
