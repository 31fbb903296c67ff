import type { Option } from "commander";
import { WAIT_TIMEOUT_MS, waitForGoal, type WaitGoal, type WaitResult } from "../../client/api/wait.ts";
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from "../../client/api/retry.ts";
import { STATUSES } from "../../core/checkout/checkout.ts";
import type { CheckoutResponse } from "../../core/checkout/wire-shapes.ts";
import { switchOption, valueOption, type Context } from "../command.ts";
import { refuseRetrieve } from "./exchange-report.ts";
import { choiceParser } from "../parsers.ts";
import { EXIT, Refused } from "../problem.ts";
import type { ServiceOptions } from "../target/surroundings.ts";
import { type ResolvedTarget, retryPolicyOf, type ServiceConnection } from "../target/resolve.ts";
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
    switchOption("--wait", {
      text: "wait until the status is final; --timeout then limits the whole wait",
      default: durationText(WAIT_TIMEOUT_MS),
    }),
    valueOption(
      "--until <status>",
      {
        text: `with --wait: status to wait for: ${STATUSES.join(", ")}, or final for any final status`,
        default: "final",
      },
      choiceParser(GOALS),
    ),
  ];
}

export function pollPolicy(settings: ResolvedTarget, { wait }: WaitOptions): RetryPolicy {
  const policy = retryPolicyOf(settings);
  if (wait !== true) return policy;
  return { ...policy, timeoutMs: Math.min(policy.timeoutMs, DEFAULT_RETRY_POLICY.timeoutMs) };
}

/** Exit 7 on timeout, exit 1 if the checkout reached another final status. */
export async function waitForStatus(
  context: Context,
  options: WaitOptions,
  { target, settings, id }: ServiceConnection & { readonly id: string },
): Promise<CheckoutResponse> {
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
  if (result.end === "failed") throw refuseRetrieve(result.exchange, settings);
  if (result.end === "unreachable_goal") {
    const { status } = result.response.data;
    const message = `${id} is ${status}, which is final, so it cannot become ${goal}`;
    const details = { id, status };
    throw new Refused({
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
