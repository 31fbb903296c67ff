/** What a snapshot holds, or is restored into: one store, or the whole sandbox (decision 95). */
export type SnapshotScope = { readonly storeId: string } | "all";

/** What is known of a snapshot. */
export type SnapshotFacts = {
  /** The store that it holds; null for the whole sandbox. */
  readonly storeId: string | null;
  /** Milliseconds by the real clock. */
  readonly takenAt: number;
  /** The format that it was written in. */
  readonly format: number;
};

/**
 * The form of a snapshot's name. It becomes the name of a file, so it leads nowhere else; and it has no capital letters,
 * because some file systems do not tell them apart.
 */
export const SNAPSHOT_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** Bytes of the key that the signing secrets in a snapshot are sealed with, which is in the snapshot: AES-256. */
export const SNAPSHOT_KEY_BYTES = 32;

/** The largest snapshot that can be read: Node reads no larger file at once. */
export const MAX_SNAPSHOT_BYTES = 2 ** 31 - 1;

/** The folder of a state folder that snapshots are in. */
export const SNAPSHOTS_FOLDER = "snapshots";

/** The file of a snapshot in that folder. */
export function snapshotFileName(name: string): string {
  return `${name}${ENDING}`;
}

/** The name of the snapshot that a file in that folder is; undefined where it is none. */
export function nameOfSnapshotFile(file: string): string | undefined {
  const name = file.endsWith(ENDING) ? file.slice(0, -ENDING.length) : "";
  return SNAPSHOT_NAME.test(name) ? name : undefined;
}

const ENDING = ".snapshot";
