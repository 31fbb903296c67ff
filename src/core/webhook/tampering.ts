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
