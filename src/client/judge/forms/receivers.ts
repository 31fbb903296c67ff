// The receivers of a store's webhooks, with their secrets and the events that they have accepted.
import { orderIdInBody } from "../../../core/checkout/event.ts";
import type { OrderEvent } from "../../../core/judge/forms/requests.ts";
import type { CallOperation } from "../../control/control.ts";
import { isDeliverable } from "../events.ts";
import type { FormReceiver } from "./forms.ts";

/** A receiver, and the checkout whose events are also sent; null if no order events are sent. */
export type FoundReceiver = FormReceiver & {
  readonly checkout: { readonly id: string; readonly orderId: string } | null;
};

/** Maximum number of accepted deliveries that are searched for an order's event: the newest may all be test events. */
const MAX_SEARCHED_DELIVERIES = 500;

/**
 * The named endpoint, or all enabled endpoints with an address, or else the listener: production has no listeners.
 * Forms are signed only with the newest secret, so that the result stays true after the overlap of a rotation.
 */
export async function findReceivers(
  call: CallOperation,
  drillRequest: { readonly endpointId: string | undefined; readonly hasOrder: boolean },
  { storeId, realNow }: { readonly storeId: string; readonly realNow: number },
): Promise<readonly FoundReceiver[]> {
  const { endpoints } = await call({ name: "listEndpoints", body: undefined });
  const enabledEndpoints = endpoints.filter(isDeliverable);
  const urlEndpoints = enabledEndpoints.filter(({ kind }) => kind === "url");
  const requestedEndpoints = endpoints.filter(({ id }) => id === drillRequest.endpointId);
  const targets =
    drillRequest.endpointId === undefined
      ? urlEndpoints.length > 0
        ? urlEndpoints
        : enabledEndpoints
      : requestedEndpoints;
  return Promise.all(
    targets.map(async ({ id, url }) => {
      const { inForce, retired, storeTime, dialect } = await call({
        name: "showSecret",
        id,
        body: undefined,
      });
      const [secret, ...olderSecrets] = inForce;
      if (secret === undefined) throw new Error(`endpoint ${id} has no signing secret`);
      const order = drillRequest.hasOrder ? await findAcceptedOrder(call, id) : null;
      return {
        endpointId: id,
        storeId,
        url,
        secret,
        olderSecrets: [...olderSecrets, ...retired],
        retiredSecret: retired[0],
        dialect,
        order: order?.event ?? null,
        checkout: order?.checkout ?? null,
        now: storeTime ?? realNow,
      };
    }),
  );
}

/**
 * The newest event that the endpoint accepted, its checkout, and the newest accepted event of each other type, from
 * this checkout and from the newest checkout of the other kind; null if the searched deliveries contain none.
 */
async function findAcceptedOrder(
  call: CallOperation,
  endpointId: string,
): Promise<{ readonly event: OrderEvent; readonly checkout: FoundReceiver["checkout"] } | null> {
  const body = { endpointId, state: "succeeded", limit: MAX_SEARCHED_DELIVERIES } as const;
  const { deliveries } = await call({ name: "listDeliveries", body });
  const acceptedDeliveries = deliveries.filter(({ checkoutId }) => checkoutId !== null);
  const [delivery] = acceptedDeliveries;
  if (delivery === undefined) return null;
  const otherDelivery = acceptedDeliveries.find(({ type }) => kindOf(type) !== kindOf(delivery.type));
  const ids = new Set([delivery.checkoutId, otherDelivery?.checkoutId]);
  // The list is newest first, and a Map keeps the last value of each key.
  const newestByType = new Map(
    acceptedDeliveries
      .filter(({ checkoutId }) => ids.has(checkoutId))
      .toReversed()
      .map((event) => [event.type, event]),
  );
  const events = await Promise.all(
    [...new Map([...newestByType, [delivery.type, delivery] as const]).values()].map(({ eventId }) =>
      call({ name: "showEvent", id: eventId, body: undefined }),
    ),
  );
  const knownEvents = events.map(({ eventId, type, body: text }) => ({ id: eventId, type, body: text }));
  const event = knownEvents.find(({ id }) => id === delivery.eventId);
  if (event === undefined) return null;
  const otherEvents = knownEvents.filter(({ id }) => id !== event.id);
  const orderId = orderIdInBody(event.body);
  return { event: { ...event, otherEvents }, checkout: { id: delivery.checkoutId ?? "", orderId } };
}

function kindOf(type: string): string {
  return type.split(".")[0] ?? "";
}
