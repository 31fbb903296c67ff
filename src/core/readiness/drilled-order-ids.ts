import { MAX_ORDER_ID_LENGTH } from "../checkout/create-request.ts";
import { outcomeOfOrderId } from "../checkout/reserved-order-id.ts";

const MIN_DIGITS = 8;

export function similarOrderId(sampleId: string, random: Uint8Array): string | undefined {
  if (outcomeOfOrderId(sampleId) !== undefined) return undefined;
  const drawnId = sampleId.replaceAll(/[A-Za-z]*\d[A-Za-z\d]*/g, (token, offset: number) =>
    redrawToken(token, random.subarray(offset)),
  );
  const digitCount = drawnId.replaceAll(/\D/g, "").length;
  const extraDigits = Array.from(
    random.subarray(sampleId.length, sampleId.length + MIN_DIGITS - digitCount),
    (byte) => byte % 10,
  );
  const orderId = digitCount < MIN_DIGITS ? `${drawnId}${extraDigits.join("")}` : drawnId;
  return Array.from(orderId).length <= MAX_ORDER_ID_LENGTH ? orderId : undefined;
}

/** Keeps leading letters that only digits follow, such as INV in INV2026. */
function redrawToken(token: string, random: Uint8Array): string {
  const isWord = /^[A-Za-z]+\d+$/.test(token);
  const isHex = /^[\da-f]+$/i.test(token);
  return Array.from(token, (character, index) => {
    const byte = random[index] ?? 0;
    if (/[1-9]/.test(character)) return String((byte % 9) + 1);
    if (character === "0") return index === 0 ? "0" : String(byte % 10);
    if (isWord) return character;
    const letter = String.fromCharCode(97 + (byte % (isHex ? 6 : 26)));
    return character === character.toLowerCase() ? letter : letter.toUpperCase();
  }).join("");
}
