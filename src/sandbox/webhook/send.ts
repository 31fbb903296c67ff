import { parseRetryAfter } from "../../core/network/headers.ts";
import type { DeliveryResult } from "../../core/webhook/delivery.ts";
import type { World } from "../../world.ts";
import type { AccessLog, DeliveryAttemptEntry } from "../runtime/access-log.ts";
import { deliveryErrorOf, post, type PostContext, type Posted } from "./post.ts";
import type { Started } from "./take-due.ts";

/** What sending a try needs. */
export type SendContext = PostContext & {
  readonly world: Pick<World, "now">;
  /** Shows each try that was sent, or could not be. */
  readonly log: Pick<AccessLog, "addDelivery">;
};

/** A try that has ended, before its end is on disk. */
export type Ended = Started & Posted;

/**
 * Sends one try, outside of any transaction, to an address that the policy allows now. A failure of ours is reported, and
 * ends the try as a lost connection does: it may have been sent, and nothing may wait for it for ever.
 */
export async function send(
  context: SendContext,
  started: Started,
  report: (error: unknown) => void,
): Promise<Ended> {
  const ended = await sendSafely(context, started, report);
  context.log.addDelivery(shownTry(ended, context.world.now()));
  return ended;
}

async function sendSafely(
  context: SendContext,
  started: Started,
  report: (error: unknown) => void,
): Promise<Ended> {
  const { url, storeId } = started.endpoint;
  const { headers, body } = started.request;
  try {
    return { ...started, ...(await post(context, { storeId, url, headers, body, ...started.route })) };
  } catch (error) {
    report(error);
    const result = {
      ok: false,
      failure: "connection_lost",
      message: "the sandbox failed to send it",
    } as const;
    return { ...started, result, milliseconds: 0 };
  }
}

/** A try as the log shows it. */
function shownTry(
  { endpoint, event, number, result, milliseconds }: Ended,
  at: number,
): DeliveryAttemptEntry {
  const outcome = outcomeOf(result, at);
  return {
    at,
    url: endpoint.url,
    status: "status" in outcome ? outcome.status : null,
    error: "error" in outcome ? outcome.error : null,
    eventId: event.id,
    type: event.type,
    milliseconds,
    attempt: number,
  };
}

/** What a receiver did with a delivery; `realNow` is when. */
export function outcomeOf(result: Posted["result"], realNow: number): DeliveryResult {
  if (result === "forbidden") return { error: "target_forbidden" };
  if (!result.ok) return { error: deliveryErrorOf(result) };
  return { status: result.status, retryAfterMs: parseRetryAfter(result.headers["retry-after"], realNow) };
}
