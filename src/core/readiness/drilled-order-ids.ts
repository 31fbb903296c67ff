import { MAX_ORDER_ID } from "../checkout/create-request.ts";
import { outcomeOfOrderId } from "../checkout/reserved-order-id.ts";

/** Minimum number of digits in an order_id, so that two order_ids of one form differ. */
const LEAST_DRAWN = 8;

/** Undefined if the merchant's is reserved, or the result too long. Uses one random byte for each character. */
export function orderIdLike(sampleId: string, random: Uint8Array): string | undefined {
  if (outcomeOfOrderId(sampleId) !== undefined) return undefined;
  const drawnId = sampleId.replaceAll(/[A-Za-z]*\d[A-Za-z\d]*/g, (token, at: number) =>
    redrawToken(token, random.subarray(at)),
  );
  const digits = drawnId.replaceAll(/\D/g, "").length;
  const extraDigits = Array.from(
    random.subarray(sampleId.length, sampleId.length + LEAST_DRAWN - digits),
    (byte) => byte % 10,
  );
  const text = digits < LEAST_DRAWN ? `${drawnId}${extraDigits.join("")}` : drawnId;
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
