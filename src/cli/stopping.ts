import type { ServedSandbox } from "../host/hosting.ts";
import { printable } from "../core/text.ts";
import { EXIT, Refused, START_SANDBOX } from "./problem.ts";
import type { World } from "../world.ts";

/** Aborts when the command is stopped, until the end of the enclosing block: `using stop = abortOnStop(world)`. */
export function abortOnStop({ onStop }: Pick<World, "onStop">): AbortController & Disposable {
  const stopping = new AbortController();
  const unsubscribe = onStop(() => stopping.abort());
  return Object.assign(stopping, { [Symbol.dispose]: unsubscribe });
}

/** Resolves when a sandbox shall end; throws if its database was deleted, after which it can serve nothing. */
export async function untilAskedToStop(
  { description, stopRequested, stateLost }: ServedSandbox,
  stopped: Promise<unknown>,
): Promise<void> {
  const asked = Promise.race([stopped, stopRequested]).then(() => "asked");
  if ((await Promise.race([asked, stateLost])) === "asked") return;
  const message = `sandbox.db of ${printable(description.dataDir ?? "")} was deleted or replaced while the sandbox was running, so the sandbox has ended`;
  throw new Refused({ exitCode: EXIT.failed, code: "state_lost", message, next: START_SANDBOX });
}
