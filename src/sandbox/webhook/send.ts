import { parseRetryAfter } from "../../core/network/headers.ts";
import type { DeliveryAttemptResult } from "../../core/webhook/delivery.ts";
import type { World } from "../../world.ts";
import type { AccessLog, DeliveryAttemptEntry } from "../runtime/access-log.ts";
import { deliveryErrorOf, postToReceiver, type PostContext, type PostResult } from "./post.ts";
import type { StartedAttempt } from "./take-due.ts";

export type SendContext = PostContext & {
  readonly world: Pick<World, "now">;
  readonly log: Pick<AccessLog, "add">;
};

export type AttemptWithResult = StartedAttempt & PostResult;

/** An internal error counts as a lost connection, because the webhook may have been sent. */
export async function sendAttempt(
  context: SendContext,
  attempt: StartedAttempt,
  report: (error: unknown) => void,
): Promise<AttemptWithResult> {
  const endedAttempt = await sendSafely(context, attempt, report);
  context.log.add(logEntryOf(endedAttempt, context.world.now()));
  return endedAttempt;
}

async function sendSafely(
  context: SendContext,
  attempt: StartedAttempt,
  report: (error: unknown) => void,
): Promise<AttemptWithResult> {
  const { endpoint, request, connection } = attempt;
  const { url, storeId, ca } = endpoint;
  const { headers, body } = request;
  try {
    const postResult = await postToReceiver(context, { storeId, url, ca, headers, body, connection });
    return { ...attempt, ...postResult };
  } catch (error) {
    report(error);
    const result = {
      ok: false,
      failure: "connection_lost",
      message: "an internal error of the sandbox",
    } as const;
    return { ...attempt, result, milliseconds: 0 };
  }
}

function logEntryOf(
  { endpoint, delivery, event, number, result, milliseconds }: AttemptWithResult,
  at: number,
): DeliveryAttemptEntry {
  const outcome = attemptResultOf(result, at);
  return {
    at,
    url: endpoint.url,
    status: "status" in outcome ? outcome.status : null,
    error: "error" in outcome ? outcome.error : null,
    eventId: event.id,
    type: event.type,
    milliseconds,
    attempt: number,
    cause: delivery.cause,
  };
}

export function attemptResultOf(result: PostResult["result"], realNow: number): DeliveryAttemptResult {
  if (result === "forbidden") return { error: "target_forbidden" };
  if (!result.ok) return { error: deliveryErrorOf(result) };
  return { status: result.status, retryAfterMs: parseRetryAfter(result.headers["retry-after"], realNow) };
}
