import { callControl, wrapAnswer } from "../control/control.ts";
import { withLease } from "../control/lease.ts";
import type { World } from "../../world.ts";
import { deliverEvent } from "./duplicates-send.ts";
import type { ViewRequest } from "./order-view.ts";

type DeliverWorld = Pick<World, "send" | "sleep" | "after">;

const TOO_MANY = 429;
/** Maximum time for which other webhooks are held, in milliseconds. */
const LEASE_MS = 120_000;

/**
 * Sends the due events of an order if the shop's rate limit has refused one of them, because their next scheduled
 * attempts may be minutes away. Other webhooks of the store are held meanwhile. Returns the number of events, also if
 * sending failed: the view of the order then shows it.
 */
export async function deliverRateLimitedEvents(
  world: DeliverWorld,
  { target, checkout, signal, onLimited = () => undefined }: Omit<ViewRequest, "view">,
): Promise<number> {
  const body = { checkoutId: checkout.id, state: "due" } as const;
  const listed = await callControl(world, target, { name: "listDeliveries", body, signal });
  const deliveries = listed.end === "success" ? listed.value.deliveries : [];
  const isLimited = deliveries.some(({ attempts }) => attempts.at(-1)?.status === TOO_MANY);
  if (!isLimited) return 0;
  // Deliveries that wait for a refused delivery have no attempt yet.
  const eventIds = new Set(deliveries.map(({ eventId }) => eventId).toReversed());
  const lease = { drill: "browser_return", timeoutMs: LEASE_MS, signal } as const;
  await withLease<null>(world, target, lease, async ({ id: leaseId }) => {
    const noted = { subject: undefined, isOutOfReach: false };
    for (const eventId of eventIds) {
      const run = { world, target, leaseId, signal, limited: onLimited, noted };
      const sent = await deliverEvent(run, { eventId });
      if (sent.end !== "success") return sent;
    }
    return wrapAnswer(null);
  });
  return eventIds.size;
}
