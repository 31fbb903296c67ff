import { MAX_ORDER_ID } from "../../checkout/create-request.ts";

/** The order_ids of a drill's purchases. They differ in little, and none is the beginning of another one. */
export type DrilledOrderIds = {
  readonly first: string;
  /** The same digits in another order; its last four characters are those of the first. */
  readonly second: string;
  /** Another last digit. */
  readonly third: string;
  /** Letters of the other case, and a zero before the digits. */
  readonly alike: readonly string[];
};

/** How many digits, and so how many random bytes, an order_id of a drill has. */
export const DRILLED_DIGITS = 10;

/** How much of a merchant's own order_id is taken over, so that all fit. */
const MAX_HEAD = MAX_ORDER_ID - DRILLED_DIGITS - 1;

/** Order_ids that look like the newest of the store, with digits from random bytes in the place of its own. */
export function drilledOrderIds(like: string | undefined, random: Uint8Array): DrilledOrderIds {
  const head = (/^[A-Za-z][A-Za-z_.-]*/.exec(like ?? "")?.[0] ?? "order-").slice(0, MAX_HEAD);
  const drawn = Array.from({ length: DRILLED_DIGITS }, (_, at) => (random[at] ?? 0) % 9);
  // Two digits that differ, and no zero at the beginning, whatever was drawn.
  const [one = 0, other = 0, ...rest] = drawn;
  const [begin, next] = [(one % 4) + 1, (other % 4) + 5];
  const digits = [begin, next, ...rest].join("");
  const last = Number(digits.at(-1));
  return {
    first: `${head}${digits}`,
    second: `${head}${next}${begin}${rest.join("")}`,
    third: `${head}${digits.slice(0, -1)}${last === 9 ? 0 : last + 1}`,
    alike: [`${otherCase(head)}${digits}`, `${head}0${digits}`],
  };
}

/** The same letters with the first one in the other case. */
function otherCase(head: string): string {
  const first = head.slice(0, 1);
  return (first === first.toLowerCase() ? first.toUpperCase() : first.toLowerCase()) + head.slice(1);
}
