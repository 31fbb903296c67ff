// How an id or a key leads to the object of its store. Who makes them: hosted/world.ts; who reads them:
// hosted/routing.ts.
import { API_KEY_RANDOM_BYTES, testKeyBits } from "../core/credential.ts";
import { isUuid } from "../core/text.ts";

/**
 * The mark of a store: 26 bits, the same in every id and API key that its object makes, and the name of the object. So
 * nothing has to be looked up on the way to a store, and nothing is left behind when it is deleted. A mark opens
 * nothing: the store itself decides whether it knows an id or a key.
 */
export type Mark = number;

/** The number of marks. */
export const MARKS = 2 ** 26;

/** Ids and keys keep the other bits: 48 random ones of each millisecond, and 134. */
const [KEY_BITS, MARK_BITS] = [API_KEY_RANDOM_BYTES * 8, 26];

/** The name of a store's object. */
export function objectName(mark: Mark): string {
  return mark.toString(16).padStart(7, "0");
}

/**
 * A UUID v7 with a mark: the milliseconds, the 12 bits and the first 14 bits that v7 leaves to chance are the mark, and
 * 48 bits stay random. The last 8 characters are among these, so that a short id still names one thing.
 */
export function markedUuid(mark: Mark, milliseconds: number, random: Uint8Array): string {
  const time = milliseconds.toString(16).padStart(12, "0");
  const high = (mark >>> 14).toString(16).padStart(3, "0");
  const low = (0x8000 | (mark & 0x3fff)).toString(16);
  const rest = Buffer.from(random.subarray(0, 6)).toString("hex");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${high}-${low}-${rest}`;
}

/** The mark of an id; undefined for a text that is no UUID v7. */
export function markOfId(id: string): Mark | undefined {
  const text = id.toLowerCase();
  if (!isUuid(text) || text[14] !== "7") return undefined;
  return (Number.parseInt(text.slice(15, 18), 16) << 14) | (Number.parseInt(text.slice(19, 23), 16) & 0x3fff);
}

/** The random bytes of an API key, beginning with a mark. */
export function markedKeyBytes(mark: Mark, random: Uint8Array): Uint8Array {
  const rest =
    BigInt(`0x${Buffer.from(random).toString("hex")}`) & ((1n << BigInt(KEY_BITS - MARK_BITS)) - 1n);
  const whole = (BigInt(mark) << BigInt(KEY_BITS - MARK_BITS)) | rest;
  return Buffer.from(whole.toString(16).padStart(KEY_BITS / 4, "0"), "hex");
}

/** The mark of an API key; undefined for a text that is no test key. */
export function markOfKey(apiKey: string): Mark | undefined {
  const bits = testKeyBits(apiKey);
  return bits === undefined ? undefined : Number(bits >> BigInt(KEY_BITS - MARK_BITS)) % MARKS;
}
