import { createHash, createHmac } from "node:crypto";
import { API_KEY_RANDOM_BYTES, storeTokenBits, testKeyBits } from "../../core/credential.ts";
import { isUuid } from "../../core/text.ts";

/**
 * 26 bits that identify a store's object, contained in each UUID v7 and API key of the store, so that routing needs no
 * lookup. A mark grants no access: the store checks ids and keys.
 */
export type Mark = number;

export const MARK_COUNT = 2 ** 26;

/** The remaining bits are random: 48 of an id, 134 of a key. */
const [KEY_BITS, MARK_BITS] = [API_KEY_RANDOM_BYTES * 8, 26];

export function objectName(mark: Mark): string {
  return mark.toString(16).padStart(7, "0");
}

export function markedUuid(mark: Mark, milliseconds: number, random: Uint8Array): string {
  const time = milliseconds.toString(16).padStart(12, "0");
  const high = (mark >>> 14).toString(16).padStart(3, "0");
  const low = (0x8000 | (mark & 0x3fff)).toString(16);
  const randomDigits = Buffer.from(random.subarray(0, 6)).toString("hex");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${high}-${low}-${randomDigits}`;
}

export function markOfId(id: string): Mark | undefined {
  const text = id.toLowerCase();
  if (!isUuid(text) || text[14] !== "7") return undefined;
  return (Number.parseInt(text.slice(15, 18), 16) << 14) | (Number.parseInt(text.slice(19, 23), 16) & 0x3fff);
}

export function markedKeyBytes(mark: Mark, random: Uint8Array): Uint8Array {
  const randomBits =
    BigInt(`0x${Buffer.from(random).toString("hex")}`) & ((1n << BigInt(KEY_BITS - MARK_BITS)) - 1n);
  const wholeNumber = (BigInt(mark) << BigInt(KEY_BITS - MARK_BITS)) | randomBits;
  return Buffer.from(wholeNumber.toString(16).padStart(KEY_BITS / 4, "0"), "hex");
}

export function markOfKey(key: string): Mark | undefined {
  const bits = testKeyBits(key) ?? storeTokenBits(key);
  return bits === undefined ? undefined : Number(bits >> BigInt(KEY_BITS - MARK_BITS)) % MARK_COUNT;
}

export const OBJECT_CLASSES = { stores: "stores", index: "index" } as const;

export const INDEX_NAME = "index";

/** Derives the file name as the runtime does, so that the host finds an object's database. */
export function objectFileName(objectClass: keyof typeof OBJECT_CLASSES, name: string): string {
  const key = createHash("sha256").update(OBJECT_CLASSES[objectClass]).digest();
  const halfDigest = (text: string | Buffer): Buffer =>
    createHmac("sha256", key).update(text).digest().subarray(0, 16);
  const firstHalf = halfDigest(name);
  return `${Buffer.concat([firstHalf, halfDigest(firstHalf)]).toString("hex")}.sqlite`;
}
