import { createHmac, timingSafeEqual } from "node:crypto";

/** The sandbox that takes or restores a snapshot; only the sandbox that took it can prove that it did (decision 95). */
export type SnapshotOrigin = {
  /** The master key, which is never part of a snapshot. */
  readonly masterKey: Uint8Array;
  /** The home folder of the state (decision 71), because a copy of the state has the same key. Undefined in memory. */
  readonly home: string | undefined;
};

/** Number of bytes in a proof: 128 bits. */
export const ORIGIN_PROOF_BYTES = 16;

/** The proof that this sandbox took a snapshot with these bytes, given in parts: an HMAC-SHA256, cut to 128 bits. */
export function originProof(origin: SnapshotOrigin, parts: Iterable<Uint8Array>): Buffer {
  const { add, end } = beginProof(origin);
  for (const part of parts) add(part);
  return end();
}

/** Begins a proof of parts that arrive one after the other. */
export function beginProof({ masterKey, home = "" }: SnapshotOrigin) {
  const mac = createHmac("sha256", masterKey).update(`snapshot of ${home}\0`);
  return {
    add: (part: Uint8Array) => void mac.update(part),
    end: () => mac.digest().subarray(0, ORIGIN_PROOF_BYTES),
  };
}

/** Whether a proof is this sandbox's proof for these bytes; compares in constant time. */
export function isOriginProof(
  origin: SnapshotOrigin,
  parts: readonly Uint8Array[],
  proof: Uint8Array,
): boolean {
  return proof.length === ORIGIN_PROOF_BYTES && timingSafeEqual(originProof(origin, parts), proof);
}
