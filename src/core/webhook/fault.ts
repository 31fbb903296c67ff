/** Ways in which a delivery can go wrong on purpose, so that a receiver shows what it does then (decision 45). */
export const TROUBLE_KINDS = [
  "duplicate",
  "reorder",
  "delay",
  "drop",
  "stale_timestamp",
  "bad_signature",
  "changed_body",
  "old_secret",
] as const;
export type TroubleKind = (typeof TROUBLE_KINDS)[number];

/** Trouble that waits for the next deliveries to an endpoint, of one event or of any. */
export type Trouble = {
  readonly id: string;
  readonly storeId: string;
  readonly endpointId: string;
  /** Null for whatever comes next. */
  readonly eventId: string | null;
  readonly kind: TroubleKind;
  /** How long `delay` and `reorder` hold a delivery back, in milliseconds by the store's clock. */
  readonly delayMs: number;
  /** How many deliveries it is still for. */
  readonly remaining: number;
  readonly createdAt: number;
};

/** How old the timestamp of a stale delivery is, in seconds. */
export const STALE_BY_SECONDS = 3600;

/** A body with one character changed: an amount where there is one, so that who does not verify books a wrong sum. */
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
