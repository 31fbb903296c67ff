import { toIso } from "../clock.ts";
import type { Checkout, Status } from "./checkout.ts";

/** The API version in the body of events (interface 34). */
const API_VERSION = "1.0.0-test";

/** An immutable fact about a checkout, with the exact bytes that all its deliveries carry (decision 11). */
export type CheckoutEvent = {
  readonly id: string;
  readonly storeId: string;
  readonly checkoutId: string;
  readonly type: `${Checkout["object"]}.${Status}`;
  /** The position of the event among the events of its checkout, from 1 without gaps. */
  readonly sequence: number;
  readonly createdAt: number;
  readonly body: string;
};

/** Creates the event for a checkout that has just reached its status. */
export function createEvent(
  {
    id,
    checkout,
    ...change
  }: {
    readonly id: string;
    readonly checkout: Checkout;
    readonly previousStatus: Status | null;
    readonly sequence: number;
    /** The bytes of the checkout, as in answers. */
    readonly checkoutJson: string;
  },
  now: number,
): CheckoutEvent {
  const { storeId, id: checkoutId, object, status } = checkout;
  return eventOf({ id, storeId, checkoutId, type: `${object}.${status}`, ...change }, now);
}

/** Creates a test event for an endpoint; it does not belong to a checkout (decision 11). */
export function createTestEvent(
  { id, storeId }: Pick<CheckoutEvent, "id" | "storeId">,
  now: number,
): Omit<CheckoutEvent, "checkoutId" | "type"> & { readonly checkoutId: null; readonly type: "webhook.test" } {
  const nothing = { checkoutId: null, sequence: 1, previousStatus: null, checkoutJson: "{}" };
  return eventOf({ id, storeId, type: "webhook.test", ...nothing }, now);
}

function eventOf<Type extends string, CheckoutId>(
  {
    previousStatus,
    checkoutJson,
    ...event
  }: Pick<CheckoutEvent, "id" | "storeId" | "sequence"> & {
    readonly checkoutId: CheckoutId;
    readonly type: Type;
    readonly previousStatus: Status | null;
    readonly checkoutJson: string;
  },
  now: number,
) {
  const head = JSON.stringify({
    event_id: event.id,
    type: event.type,
    created_at: toIso(now),
    api_version: API_VERSION,
    livemode: false,
    store_id: event.storeId,
    sequence: event.sequence,
    previous_status: previousStatus,
  });
  return { ...event, createdAt: now, body: `${head.slice(0, -1)},"data":${checkoutJson}}` };
}
