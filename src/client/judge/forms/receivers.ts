import { orderIdInBody } from "../../../core/checkout/event.ts";
import type { World } from "../../../world.ts";
import type { CallOperation } from "../../control/control.ts";
import { isDeliverable } from "../events.ts";
import type { FormReceiver } from "./forms.ts";

export type FoundReceiver = FormReceiver & {
  readonly checkout: { readonly id: string; readonly orderId: string } | null;
};

const MAX_SEARCHED_DELIVERIES = 500;

/**
 * Without an id, all enabled endpoints with an address, or else the listener: production has no listeners. Genuine
 * events are signed only with the newest secret, so that the result stays true after the overlap of a rotation.
 */
export async function findReceivers(
  call: CallOperation,
  {
    endpointId,
    hasOrder,
    storeId,
  }: Pick<FormReceiver, "storeId"> & { readonly endpointId: string | undefined; readonly hasOrder: boolean },
  world: Pick<World, "now">,
): Promise<readonly FoundReceiver[]> {
  const realNow = world.now();
  const { endpoints } = await call({ name: "listEndpoints", body: undefined });
  const enabledEndpoints = endpoints.filter(isDeliverable);
  const urlEndpoints = enabledEndpoints.filter(({ kind }) => kind === "url");
  const allTargets = urlEndpoints.length > 0 ? urlEndpoints : enabledEndpoints;
  const targets = endpointId === undefined ? allTargets : endpoints.filter(({ id }) => id === endpointId);
  return Promise.all(
    targets.map(async ({ id, url }) => {
      const { inForce, retired, storeTime, dialect } = await call({
        name: "showSecret",
        id,
        body: undefined,
      });
      const [secret, ...olderSecrets] = inForce;
      if (secret === undefined) throw new Error(`endpoint ${id} has no signing secret`);
      const { order, checkout } = hasOrder ? await findAcceptedOrder(call, id) : NO_ORDER;
      return {
        endpointId: id,
        storeId,
        url,
        secret,
        olderSecrets: [...olderSecrets, ...retired],
        retiredSecret: retired[0],
        dialect,
        order,
        checkout,
        now: storeTime ?? realNow,
      };
    }),
  );
}

type AcceptedOrder = Pick<FoundReceiver, "order" | "checkout">;
const NO_ORDER: AcceptedOrder = { order: null, checkout: null };

/**
 * Also finds the newest accepted event of each other type, from this checkout and from the newest checkout of
 * the other kind; none if the searched deliveries contain none.
 */
async function findAcceptedOrder(call: CallOperation, endpointId: string): Promise<AcceptedOrder> {
  const body = { endpointId, state: "succeeded", limit: MAX_SEARCHED_DELIVERIES } as const;
  const { deliveries } = await call({ name: "listDeliveries", body });
  const acceptedDeliveries = deliveries.filter(({ checkoutId }) => checkoutId !== null);
  const [delivery] = acceptedDeliveries;
  if (delivery === undefined) return NO_ORDER;
  const otherDelivery = acceptedDeliveries.find(({ type }) => kindOf(type) !== kindOf(delivery.type));
  const ids = new Set([delivery.checkoutId, otherDelivery?.checkoutId]);
  // The list is newest first, and a Map keeps the last value of each key.
  const newestByType = new Map(
    acceptedDeliveries
      .filter(({ checkoutId, type }) => ids.has(checkoutId) && type !== delivery.type)
      .toReversed()
      .map((event) => [event.type, event]),
  );
  const readEvent = async ({ eventId: id }: typeof delivery) => {
    const { type, body: text } = await call({ name: "showEvent", id, body: undefined });
    return { id, type, body: text };
  };
  const event = await readEvent(delivery);
  const otherEvents = await Promise.all([...newestByType.values()].map(readEvent));
  const checkout = { id: delivery.checkoutId ?? "", orderId: orderIdInBody(event.body) };
  return { order: { ...event, otherEvents }, checkout };
}

function kindOf(type: string): string {
  return type.split(".")[0] ?? "";
}
