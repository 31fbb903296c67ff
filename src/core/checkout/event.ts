import { toIso } from "../clock.ts";
import { isRecord, parseJson } from "../json.ts";
import type { Checkout, Status } from "./checkout.ts";

const API_VERSION = "1.0.0-test";

/** Immutable (decision 11); a dialect changes only the delivered copies. */
export type CheckoutEvent = {
  readonly id: string;
  readonly storeId: string;
  readonly checkoutId: string;
  readonly type: `${Checkout["object"]}.${Status}`;
  /** The position among the events of its checkout, from 1 without gaps. */
  readonly sequence: number;
  readonly createdAt: number;
  readonly body: string;
};

export function createEvent(
  input: Pick<CheckoutEvent, "id" | "sequence"> & {
    readonly checkout: Checkout;
    readonly previousStatus: Status | null;
    readonly checkoutJson: string;
  },
  now: number,
): CheckoutEvent {
  const { id, sequence, checkout, previousStatus, checkoutJson } = input;
  const { storeId, id: checkoutId, object, status } = checkout;
  const type = `${object}.${status}` as const;
  const event = { id, storeId, checkoutId, type, sequence, createdAt: now };
  return { ...event, body: eventBody(event, previousStatus, checkoutJson) };
}

export function createTestEvent({ id, storeId }: Pick<CheckoutEvent, "id" | "storeId">, now: number) {
  const event = { id, storeId, checkoutId: null, type: "webhook.test", sequence: 1, createdAt: now } as const;
  return { ...event, body: eventBody(event, null, "{}") };
}

export function orderIdInBody(body: string): string {
  const event = parseJson(body);
  const data = isRecord(event) && isRecord(event["data"]) ? event["data"] : {};
  return typeof data["order_id"] === "string" ? data["order_id"] : "";
}

function eventBody(
  event: Pick<CheckoutEvent, "id" | "storeId" | "sequence" | "createdAt"> & { readonly type: string },
  previousStatus: Status | null,
  data: string,
): string {
  const head = JSON.stringify({
    event_id: event.id,
    type: event.type,
    created_at: toIso(event.createdAt),
    api_version: API_VERSION,
    livemode: false,
    store_id: event.storeId,
    sequence: event.sequence,
    previous_status: previousStatus,
  });
  return `${head.slice(0, -1)},"data":${data}}`;
}
