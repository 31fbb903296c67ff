import { createHmac, timingSafeEqual } from "node:crypto";

/** Proves that a sandbox took a snapshot itself (decision 95). */
export type SnapshotOrigin = {
  /** Never part of a snapshot. */
  readonly masterKey: Uint8Array;
  /** The home folder of the state (decision 71), because a copy of the state has the same key. Undefined in memory. */
  readonly home: string | undefined;
};

export const ORIGIN_PROOF_BYTES = 16;

/** An HMAC-SHA256, truncated to 128 bits. */
export function originProof(origin: SnapshotOrigin, parts: Iterable<Uint8Array>): Buffer {
  const { add, end } = beginProof(origin);
  for (const part of parts) add(part);
  return end();
}

export function beginProof({ masterKey, home = "" }: SnapshotOrigin) {
  const mac = createHmac("sha256", masterKey).update(`snapshot of ${home}\0`);
  return {
    add: (part: Uint8Array) => void mac.update(part),
    end: () => mac.digest().subarray(0, ORIGIN_PROOF_BYTES),
  };
}

export function isOriginProof(
  origin: SnapshotOrigin,
  parts: readonly Uint8Array[],
  proof: Uint8Array,
): boolean {
  return proof.length === ORIGIN_PROOF_BYTES && timingSafeEqual(originProof(origin, parts), proof);
}
