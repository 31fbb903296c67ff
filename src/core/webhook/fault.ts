/** Faults that can be injected into a delivery, to test how a receiver handles them (decision 45). */
export const FAULT_KINDS = [
  "duplicate",
  "reorder",
  "delay",
  "drop",
  "stale_timestamp",
  "bad_signature",
  "changed_body",
  "old_secret",
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** A fault that is scheduled for the next deliveries to an endpoint, of one event or of any. */
export type DeliveryFault = {
  readonly id: string;
  readonly storeId: string;
  readonly endpointId: string;
  /** Null for any event. */
  readonly eventId: string | null;
  readonly kind: FaultKind;
  /** How long `delay` and `reorder` hold a delivery back, in milliseconds by the store's clock. */
  readonly delayMs: number;
  /** How many more deliveries it applies to. */
  readonly remaining: number;
  readonly createdAt: number;
};

/** How old the timestamp of a stale delivery is, in seconds. */
export const STALE_BY_SECONDS = 3600;

/**
 * A body with one character changed: in the amount if there is one, so that a receiver that does not verify books it.
 */
export function changedBody(body: string): string {
  const amount = body.replace(
    /("amount_minor":)(\d)/,
    (_, name: string, digit: string) => `${name}${digit === "9" ? "1" : Number(digit) + 1}`,
  );
  return amount === body
    ? body.replace(
        /("event_id":")(.)/,
        (_, name: string, first: string) => `${name}${first === "f" ? "e" : "f"}`,
      )
    : amount;
}
