/** The request body of a create. */
export type Create = {
  readonly order_id: string;
  readonly amount_minor: number;
  readonly currency: string;
  readonly payment_method: string;
};

export const LIFETIME_MS = 3_600_000;
/** As long as the fingerprint of a real request. */
export const FINGERPRINT = "0".repeat(64);

export const INSERT_CHECKOUT = `INSERT INTO checkouts (id, store_id, object, order_id, amount_minor, currency, payment_method, status, created_at, expires_at)
  VALUES (?, ?, 'order', ?, ?, ?, ?, 'created', ?, ?)`;
export const INSERT_KEY = `INSERT INTO idempotency_keys (store_id, key, fingerprint, status, request_id, body, checkout_id, created_at)
  VALUES (?, ?, ?, 201, ?, ?, ?, ?)`;
export const INSERT_EVENT = `INSERT INTO events (id, store_id, checkout_id, type, sequence, body, created_at)
  VALUES (?, ?, ?, 'order.created', 1, ?, ?)`;

/** New ids for a create, and the bodies of its answer and its event, as long as the service's bodies. */
export function bareCreate(
  { order_id, amount_minor, currency }: Create,
  { storeId, now, uuid }: { readonly storeId: string; readonly now: number; readonly uuid: () => string },
) {
  const [id, requestId, eventId] = [uuid(), uuid(), uuid()];
  const checkout = {
    id,
    object: "order",
    order_id,
    amount_minor,
    currency,
    status: "created",
    checkout_url: `http://127.0.0.1:42420/pay/${id}`,
    livemode: false,
  };
  const body = JSON.stringify({ ok: true, request_id: requestId, data: checkout });
  const event = JSON.stringify({
    event_id: eventId,
    type: "order.created",
    created_at: new Date(now).toISOString(),
    api_version: "1.0.0-test",
    livemode: false,
    store_id: storeId,
    sequence: 1,
    previous_status: null,
    data: checkout,
  });
  return { id, requestId, eventId, body, event };
}
