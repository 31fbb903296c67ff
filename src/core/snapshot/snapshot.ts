/** The scope of a snapshot or of a restore: one store, or the whole sandbox (decision 95). */
export type SnapshotScope = { readonly storeId: string } | "all";

export type SnapshotFacts = {
  /** The snapshot's store; null for the whole sandbox. */
  readonly storeId: string | null;
  /** The time in milliseconds, by the real clock. */
  readonly takenAt: number;
  readonly format: number;
};

/** It becomes a file name: no separators, no capitals, which some file systems do not distinguish. */
export const SNAPSHOT_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** AES-256; the snapshot contains the key with which its signing secrets are encrypted. */
export const SNAPSHOT_KEY_BYTES = 32;

/** The largest snapshot that can be read, in bytes; Node cannot read larger files at once. */
export const MAX_SNAPSHOT_BYTES = 2 ** 31 - 1;

export const SNAPSHOTS_FOLDER = "snapshots";

export function snapshotFileName(name: string): string {
  return `${name}${ENDING}`;
}

/** The name of the snapshot in a file; undefined if the file is not a snapshot. */
export function nameOfSnapshotFile(file: string): string | undefined {
  const name = file.endsWith(ENDING) ? file.slice(0, -ENDING.length) : "";
  return SNAPSHOT_NAME.test(name) ? name : undefined;
}

const ENDING = ".snapshot";
