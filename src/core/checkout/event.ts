import { iso } from "../clock.ts";
import type { Checkout, Status } from "./checkout.ts";

/** The version that an event's body names (interface 34). */
const API_VERSION = "1.0.0-test";

/** An immutable fact about a checkout, with the exact bytes that every delivery of it carries (decision 11). */
export type CheckoutEvent = {
  readonly id: string;
  readonly storeId: string;
  readonly checkoutId: string;
  readonly type: `${Checkout["object"]}.${Status}`;
  /** Counts from 1 for each checkout, without gaps. */
  readonly sequence: number;
  readonly createdAt: number;
  readonly body: string;
};

/** Makes the event of a checkout that has just reached its status. The body is made here, once, and never again. */
export function recordEvent(
  input: {
    readonly id: string;
    readonly checkout: Checkout;
    readonly previousStatus: Status | null;
    readonly sequence: number;
    /** The bytes of the checkout, as answers carry them. */
    readonly checkoutJson: string;
  },
  now: number,
): CheckoutEvent {
  const { checkout } = input;
  const type = `${checkout.object}.${checkout.status}` as const;
  const head = JSON.stringify({
    event_id: input.id,
    type,
    created_at: iso(now),
    api_version: API_VERSION,
    livemode: false,
    store_id: checkout.storeId,
    sequence: input.sequence,
    previous_status: input.previousStatus,
  });
  const body = `${head.slice(0, -1)},"data":${input.checkoutJson}}`;
  return {
    id: input.id,
    storeId: checkout.storeId,
    checkoutId: checkout.id,
    type,
    sequence: input.sequence,
    createdAt: now,
    body,
  };
}

/** Makes an event that tests an endpoint: nothing happened, and it belongs to no checkout (decision 11). */
export function recordTestEvent(
  { id, storeId }: { readonly id: string; readonly storeId: string },
  now: number,
): Omit<CheckoutEvent, "checkoutId" | "type"> & { readonly checkoutId: null; readonly type: "webhook.test" } {
  const type = "webhook.test";
  const body = JSON.stringify({
    event_id: id,
    type,
    created_at: iso(now),
    api_version: API_VERSION,
    livemode: false,
    store_id: storeId,
    sequence: 1,
    previous_status: null,
    data: {},
  });
  return { id, storeId, checkoutId: null, type, sequence: 1, createdAt: now, body };
}
