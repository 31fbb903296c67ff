import { createHash } from "node:crypto";

const BLOCK_BYTES = 32;
const TIME_BYTES = 6;
const UUID_BYTES = 16;

/**
 * The same seed gives the same values on every platform (decision 98). Each stream has its own counter, so that stores
 * that are used at the same time do not affect each other's ids.
 */
export function createSeededSource(seed: string, startMs: number) {
  const counts = new Map<string, number>();
  let positions: readonly number[] = [];
  const drawBlock = (kind: string, stream: string): { readonly count: number; readonly bytes: Buffer } => {
    const name = JSON.stringify([seed, positions, kind, stream]);
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    return { count, bytes: createHash("sha256").update(`${name} ${count}`).digest() };
  };
  return {
    /** Later values also depend on the position, so that they do not repeat earlier ones. */
    renew: (position: number) => void (positions = [...positions, position]),
    uuid: (stream = "") => {
      const { count, bytes } = drawBlock("uuid", stream);
      return uuidOf(startMs + count, bytes.subarray(0, UUID_BYTES));
    },
    random: (stream = "") => drawBlock("number", stream).bytes.readUInt32BE() / 2 ** 32,
    randomBytes: (length: number) => {
      const blocks = Array.from(
        { length: Math.ceil(length / BLOCK_BYTES) },
        () => drawBlock("bytes", "").bytes,
      );
      return new Uint8Array(Buffer.concat(blocks).subarray(0, length));
    },
  };
}

function uuidOf(milliseconds: number, bytes: Buffer): string {
  bytes.writeUIntBE(milliseconds, 0, TIME_BYTES);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
