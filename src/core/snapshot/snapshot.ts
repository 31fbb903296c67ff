/** The scope of a snapshot or of a restore: one store, or the whole sandbox (decision 95). */
export type SnapshotScope = { readonly storeId: string } | "all";

export type SnapshotFacts = {
  readonly storeId: string | null;
  /** The time in milliseconds, by the real clock. */
  readonly takenAt: number;
  readonly format: number;
};

/** The name becomes a file name: no separators, and no capitals, which some file systems do not distinguish. */
export const SNAPSHOT_NAME_PATTERN = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** Number of bytes in the AES-256 key for the signing secrets in a snapshot; the snapshot contains the key. */
export const SNAPSHOT_KEY_BYTES = 32;

/** The largest snapshot that can be read, in bytes; Node cannot read a larger file in one call. */
export const MAX_SNAPSHOT_BYTES = 2 ** 31 - 1;

export const SNAPSHOTS_FOLDER = "snapshots";

export function snapshotFileName(name: string): string {
  return `${name}${FILE_EXTENSION}`;
}

/** The name of the snapshot in a file; undefined if the file is not a snapshot. */
export function nameOfSnapshotFile(fileName: string): string | undefined {
  const name = fileName.endsWith(FILE_EXTENSION) ? fileName.slice(0, -FILE_EXTENSION.length) : "";
  return SNAPSHOT_NAME_PATTERN.test(name) ? name : undefined;
}

const FILE_EXTENSION = ".snapshot";
