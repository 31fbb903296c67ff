// Test suites and jsdom replace the timers and `Date`, so Node's own are taken when the program is loaded.
import { performance } from "node:perf_hooks";
import * as timers from "node:timers";
import type { World } from "../world.ts";

export const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate } = timers;

const monotonic: () => number = performance.now.bind(performance);

const NATIVE_CODE = "[native code]";
/** A larger difference between two clocks of this machine shows that a test has replaced one of them. */
const MAX_DIFFERENCE_MS = 60_000;

export const now: () => number = isDateReplaced() ? dateOfAnotherRealm().now : Date.now;

function isDateReplaced(): boolean {
  const isNative = [Date, Date.now].every((builtin) => String(builtin).includes(NATIVE_CODE));
  const differenceMs = Date.now() - (performance.timeOrigin + performance.now());
  return !isNative || !(Math.abs(differenceMs) < MAX_DIFFERENCE_MS);
}

/** The `Date` of a new realm: fake timers replace only the `Date` of their own realm. */
function dateOfAnotherRealm(): DateConstructor {
  return process.getBuiltinModule("node:vm").runInNewContext("Date") as DateConstructor;
}

const FIRST_WEBHOOK_TIME_MS = 1e12;

export function webhookReceiverNow(): number {
  const suiteTime = Date.now();
  return suiteTime >= FIRST_WEBHOOK_TIME_MS && suiteTime < 10 * FIRST_WEBHOOK_TIME_MS ? suiteTime : now();
}

export const clock = {
  now,
  monotonic,
  sleep,
  after: (milliseconds, run) => void setTimeout(run, milliseconds),
  soon: (run) => void setImmediate(run),
} satisfies Partial<World>;

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, Math.max(0, milliseconds));
    signal?.addEventListener("abort", end);
  });
}

/** With fake timers, no wait in this process would end. `next` is the remedy. */
type FakeTimersProblem = { readonly message: string; readonly next: string };

/** Fake timers of vitest, jest and sinon have the property `clock`; fake timers of node:test are bound functions. */
export function fakeTimersProblem(): FakeTimersProblem | undefined {
  if ([setTimeout, setImmediate].some((timer) => "clock" in timer || String(timer).includes(NATIVE_CODE)))
    return {
      message: "fake timers were installed before hosted-checkout/testing was loaded",
      next: "import it before they are installed; its own waits then use the real timers",
    };
  // In jest, `process` is a copy, and Node itself does not call the copy's `nextTick`.
  if (process.getBuiltinModule("node:vm").runInThisContext('"clock" in process.nextTick') === true)
    return {
      message: "process.nextTick is replaced by fake timers, and no socket of Node works without it",
      next: 'leave it out: sinon.useFakeTimers({ toNotFake: ["nextTick", "queueMicrotask"] })',
    };
  return undefined;
}
