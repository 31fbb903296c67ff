import { MAX_ORDER_ID } from "../checkout/create-request.ts";
import { outcomeOfOrderId } from "../checkout/reserved-order-id.ts";

/** The order_ids of a drill's purchases. They differ only slightly, and none is the beginning of another. */
export type DrilledOrderIds = {
  readonly first: string;
  /** The digits of the first order_id in another order; the last four characters are the same. */
  readonly second: string;
  /** The digits of the first order_id, except for the last digit. */
  readonly third: string;
  /** Order_ids with the first letter in the other case, or with a zero before the digits. */
  readonly alike: readonly string[];
};

/** The number of digits in an order_id of a drill, and of the random bytes for them. */
export const DRILLED_DIGITS = 10;

/** Maximum length of the merchant's part, so that every order_id fits. */
const MAX_HEAD = MAX_ORDER_ID - DRILLED_DIGITS - 1;

/** Creates order_ids in the form of the store's newest order_id, but with random digits. */
export function createOrderIds(like: string | undefined, random: Uint8Array): DrilledOrderIds {
  const head = (/^[A-Za-z][A-Za-z_.-]*/.exec(like ?? "")?.[0] ?? "order-").slice(0, MAX_HEAD);
  const drawn = Array.from({ length: DRILLED_DIGITS }, (_, at) => (random[at] ?? 0) % 9);
  // Two different digits, and no leading zero, for any random bytes.
  const [one = 0, other = 0, ...rest] = drawn;
  const [begin, next] = [(one % 4) + 1, (other % 4) + 5];
  const digits = [begin, next, ...rest].join("");
  const last = Number(digits.at(-1));
  return {
    first: `${head}${digits}`,
    second: `${head}${next}${begin}${rest.join("")}`,
    third: `${head}${digits.slice(0, -1)}${last === 9 ? 0 : last + 1}`,
    alike: [`${switchCase(head)}${digits}`, `${head}0${digits}`],
  };
}

/** The letters, with the first letter in the other case. */
function switchCase(head: string): string {
  const first = head.slice(0, 1);
  return (first === first.toLowerCase() ? first.toUpperCase() : first.toLowerCase()) + head.slice(1);
}

/** Minimum number of digits in an order_id, so that two order_ids of one form differ. */
const LEAST_DRAWN = 8;

/**
 * An order_id in the form of the merchant's order_id, with other digits, and with other letters except in words.
 * Undefined if the merchant's order_id is reserved, so that the sandbox settles it automatically, or if the result
 * would be too long. Uses one random byte for each character.
 */
export function orderIdLike(like: string, random: Uint8Array): string | undefined {
  if (outcomeOfOrderId(like) !== undefined) return undefined;
  const drawn = like.replaceAll(/[A-Za-z]*\d[A-Za-z\d]*/g, (token, at: number) =>
    redrawToken(token, random.subarray(at)),
  );
  const digits = drawn.replaceAll(/\D/g, "").length;
  const more = Array.from(
    random.subarray(like.length, like.length + LEAST_DRAWN - digits),
    (byte) => byte % 10,
  );
  const text = digits < LEAST_DRAWN ? `${drawn}${more.join("")}` : drawn;
  return Array.from(text).length <= MAX_ORDER_ID ? text : undefined;
}

/** Letters that are followed only by digits form a word, as in INV2026. */
function redrawToken(token: string, random: Uint8Array): string {
  const isWord = /^[A-Za-z]+\d+$/.test(token);
  const isHex = /^[\da-f]+$/i.test(token);
  return Array.from(token, (character, at) => {
    const byte = random[at] ?? 0;
    if (/[1-9]/.test(character)) return String((byte % 9) + 1);
    if (character === "0") return at === 0 ? "0" : String(byte % 10);
    if (isWord) return character;
    const letter = String.fromCharCode(97 + (byte % (isHex ? 6 : 26)));
    return character === character.toLowerCase() ? letter : letter.toUpperCase();
  }).join("");
}
