import type { Option } from "commander";
import { WAIT_TIMEOUT_MS } from "../../client/api/wait.ts";
import { waitForDeliveries } from "../../client/control/webhook-wait.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import { switchOption, valueOption, type Context } from "../command.ts";
import { parseDuration } from "../parsers.ts";
import { EXIT, Refused, type Problem } from "../problem.ts";
import { unwrapAnswer, type Remedies } from "../target/call.ts";
import { requireControlTarget } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import { runWithSpinner } from "../request/exchange.ts";
import type { DeliveryEntry } from "../../core/webhook/shapes.ts";
import { durationText } from "../../core/duration.ts";

export type WebhookWaitOptions = CommonOptions & { readonly wait?: boolean; readonly timeout?: number };

export const EVENT_REMEDIES: Remedies = { not_found: "checkout events list shows the events" };

export function webhookWaitOptions(waitSubject: string): Option[] {
  return [
    switchOption("--wait", waitSubject),
    valueOption(
      "--timeout <duration>",
      { text: "with --wait: maximum time to wait", default: durationText(WAIT_TIMEOUT_MS) },
      parseDuration,
    ),
  ];
}

export async function waitForDelivery(
  context: Context,
  options: WebhookWaitOptions,
  query: { readonly eventId: string; readonly until: (deliveries: readonly DeliveryEntry[]) => boolean },
): Promise<AnswerOf<"showEvent">> {
  const target = await requireControlTarget(context);
  const waitMs = options.timeout ?? WAIT_TIMEOUT_MS;
  const waitResult = await runWithSpinner(context, ({ signal }) =>
    waitForDeliveries(context.world, target, { ...query, waitMs, signal }),
  );
  return unwrapAnswer(waitResult, EVENT_REMEDIES);
}

export function refuseTimeout(
  message: string,
  next: string,
  details: NonNullable<Problem["details"]> = {},
): Refused {
  return new Refused({
    exitCode: EXIT.unreachable,
    code: "wait_timeout",
    message: `timed out: ${message}`,
    next,
    details,
  });
}
