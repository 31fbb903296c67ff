import type { ServedSandbox } from "../host/hosting.ts";
import { problemOf, Refused } from "./problem.ts";
import type { World } from "../world.ts";

export function abortOnStop({ onStop }: Pick<World, "onStop">): AbortController & Disposable {
  const controller = new AbortController();
  const unsubscribe = onStop(() => controller.abort());
  return Object.assign(controller, { [Symbol.dispose]: unsubscribe });
}

export function awaitAbort(signal: AbortSignal): Promise<"stopped"> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve("stopped");
    signal.addEventListener("abort", () => resolve("stopped"));
  });
}

/** Throws `Refused` if the sandbox loses its database, because it can no longer serve. */
export async function awaitStop(
  { stopRequest, stateLoss }: Pick<ServedSandbox, "stopRequest" | "stateLoss">,
  stopPromise: Promise<unknown>,
): Promise<void> {
  const lossFailure = stateLoss.then((failure) => {
    throw new Refused(problemOf(failure));
  });
  await Promise.race([stopPromise, stopRequest, lossFailure]);
}

export async function waitAtMost(
  { after }: Pick<World, "after">,
  milliseconds: number,
  work: Promise<unknown>,
): Promise<void> {
  await Promise.race([work, new Promise<void>((resolve) => after(milliseconds, resolve))]);
}
