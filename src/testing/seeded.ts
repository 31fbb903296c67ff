// Why a seed gives the same ids: a stream is named where an id is drawn, `world.uuid(storeId)`.
// test/real/kit-seed.test.ts compares whole runs.
import { createHash } from "node:crypto";
import type { World } from "../world.ts";

/** Where ids, secrets and jitter come from. */
type Source = Pick<World, "uuid" | "random" | "randomBytes"> & {
  /** Goes on with another seed, made of this one and of how far the state is: what is in it cannot come again. */
  readonly renew: (position: number) => void;
};

const BLOCK_BYTES = 32;
const TIME_BYTES = 6;
const UUID_BYTES = 16;

/**
 * Ids, bytes and numbers from a seed: the same ones in each run, on every platform (decision 98). Each is a hash of the
 * seed, its kind, its stream and how many of that stream came before it, so streams do not change each other. The ids of a
 * stream are in the order in which they were made: their times go on from `startMs` by a millisecond.
 */
export function seededSource(seed: string, startMs: number): Source {
  const counts = new Map<string, number>();
  let turn: readonly number[] = [];
  const block = (kind: string, stream: string): { readonly count: number; readonly bytes: Buffer } => {
    const name = JSON.stringify([seed, turn, kind, stream]);
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    return { count, bytes: createHash("sha256").update(`${name} ${count}`).digest() };
  };
  return {
    renew: (position) => void (turn = [...turn, position]),
    uuid: (stream = "") => {
      const { count, bytes } = block("uuid", stream);
      return uuidOf(startMs + count, bytes.subarray(0, UUID_BYTES));
    },
    random: (stream = "") => block("number", stream).bytes.readUInt32BE() / 2 ** 32,
    randomBytes: (length) => {
      const blocks = Array.from({ length: Math.ceil(length / BLOCK_BYTES) }, () => block("bytes", "").bytes);
      return new Uint8Array(Buffer.concat(blocks).subarray(0, length));
    },
  };
}

/** A UUID v7 of a time, its other bits from these bytes. */
function uuidOf(milliseconds: number, bytes: Buffer): string {
  bytes.writeUIntBE(milliseconds, 0, TIME_BYTES);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
