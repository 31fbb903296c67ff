import { DEFAULT_RETRY_POLICY, retryDelayMs } from "../../client/api/retry.ts";
import type { Context } from "../command.ts";
import { runWithSpinner } from "../request/exchange.ts";
import { catchRefusal, interruptedProblem, NO_SANDBOX, Refused } from "../problem.ts";
import { limitFromVariable } from "./options.ts";

/** Waits as long as a request is retried; also while none runs, if the user asks for retries. */
export async function awaitSandbox<Seen>(
  context: Context,
  { look, isThere }: { readonly look: () => Seen; readonly isThere: (seen: Seen) => boolean },
): Promise<Seen> {
  const { around, world } = context;
  const wanted = around.options.retries ?? limitFromVariable(world.env, "retries");
  const first = look();
  const isExpected = wanted !== undefined || catchRefusal(around.run).value !== undefined;
  if (isThere(first) || !isExpected) return first;
  const retries = wanted ?? DEFAULT_RETRY_POLICY.retries;
  return runWithSpinner(context, async ({ signal, observer }) => {
    let seen = first;
    for (let tries = 1; tries <= retries && !isThere(seen); tries += 1) {
      const delayMs = retryDelayMs(tries, { random: world.random(), retryAfterMs: 0 });
      observer.onRetry?.(NO_SANDBOX, delayMs);
      await world.sleep(delayMs, signal);
      if (signal.aborted) throw new Refused(interruptedProblem());
      around.reload();
      seen = look();
    }
    return seen;
  });
}
