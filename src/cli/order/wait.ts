import { errorRow } from "../../core/errors.ts";
import type { Option } from "commander";
import type { ServiceTarget } from "../../client/api/client.ts";
import { WAIT_TIMEOUT_MS, waitForGoal, type WaitGoal, type WaitResult } from "../../client/api/wait.ts";
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from "../../client/api/retry.ts";
import { STATUSES } from "../../core/checkout/checkout.ts";
import type { CheckoutResponse } from "../../core/checkout/wire-shapes.ts";
import { switchOption, valueOption, type Context } from "../command.ts";
import { exchangeProblem, addExplanation } from "./exchange-report.ts";
import { choiceParser } from "../parsers.ts";
import { EXIT, Refused } from "../problem.ts";
import type { ServiceOptions } from "../target/surroundings.ts";
import { type ResolvedTarget, retryPolicyOf } from "../target/resolve.ts";
import { runWithSpinner } from "../request/exchange.ts";
import { durationText } from "../../core/duration.ts";

const GOALS: readonly WaitGoal[] = ["final", ...STATUSES];

export type WaitOptions = ServiceOptions & { readonly wait?: boolean; readonly until?: WaitGoal };

export const WAIT_EXIT_CODES = {
  1: "no such order or session; with --wait, it ended with another status",
  7: "unreachable, timeout, 5xx; with --wait, not in time",
} as const;

export function waitOptions(): Option[] {
  return [
    switchOption(
      "--wait",
      `wait until the status is final; --timeout then limits the whole wait (default: ${durationText(WAIT_TIMEOUT_MS)})`,
    ),
    valueOption(
      "--until <status>",
      `with --wait: status to wait for: ${STATUSES.join(", ")}, or final for any final status (default: final)`,
      choiceParser(GOALS),
    ),
  ];
}

/** The policy of each request. In a command that waits, `--timeout` limits the whole wait instead. */
export function pollPolicy(settings: ResolvedTarget, { wait }: WaitOptions): RetryPolicy {
  const policy = retryPolicyOf(settings);
  if (wait !== true) return policy;
  return { ...policy, timeoutMs: Math.min(policy.timeoutMs, DEFAULT_RETRY_POLICY.timeoutMs) };
}

/** Waits until a checkout has a status; exit 7 on timeout, exit 1 if it reached another final status. */
export async function waitForStatus(
  context: Context,
  options: WaitOptions,
  orderQuery: { readonly target: ServiceTarget; readonly settings: ResolvedTarget; readonly id: string },
): Promise<CheckoutResponse> {
  const { target, settings, id } = orderQuery;
  const goal = options.until ?? "final";
  const waitMs = options.timeout ?? WAIT_TIMEOUT_MS;
  const policy = pollPolicy(settings, options);
  const result = await runWithSpinner(context, (watch) =>
    waitForGoal(context.world, target, { id, goal, waitMs, policy, ...watch }),
  );
  return unwrapWait(result, { goal, id, settings });
}

function unwrapWait(
  result: WaitResult,
  { goal, id, settings }: { readonly goal: WaitGoal; readonly id: string; readonly settings: ResolvedTarget },
): CheckoutResponse {
  if (result.end === "reached") return result.response;
  if (result.end === "failed") {
    const problem = exchangeProblem(result.exchange);
    const next =
      errorRow(problem.code)?.next ?? "run the command again; checkout whoami shows which service was called";
    throw new Refused(addExplanation({ ...problem, next }, settings));
  }
  if (result.end === "unreachable_goal") {
    const { status } = result.response.data;
    const message = `${id} is ${status}, which is final, so it cannot become ${goal}`;
    const details = { id, status };
    throw new Refused({
      exitCode: EXIT.failed,
      code: "ended_otherwise",
      message,
      details,
      next: "create a new one with --new-attempt, or wait for another status with --until",
    });
  }
  const next = `continue to wait: checkout sessions get ${id} --wait`;
  const checkout = result.response?.data;
  const message =
    checkout === undefined
      ? "timed out: the service did not answer"
      : `timed out: ${id} still has the status ${checkout.status}`;
  const details = {
    id,
    ...(checkout === undefined ? {} : { status: checkout.status, checkout_url: checkout.checkout_url }),
  };
  throw new Refused({ exitCode: EXIT.unreachable, code: "wait_timeout", message, details, next });
}
