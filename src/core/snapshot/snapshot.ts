export type SnapshotScope = { readonly storeId: string } | "all";

export type SnapshotFacts = {
  readonly storeId: string | null;
  /** In milliseconds, by the real clock. */
  readonly takenAt: number;
  readonly format: number;
};

/** Names become file names, so they have no separators, and no capitals, which some file systems do not distinguish. */
export const SNAPSHOT_NAME_PATTERN = /^[a-z0-9][a-z0-9._-]{0,63}$/;

export const SNAPSHOT_KEY_BYTES = 32;

export const MAX_SNAPSHOT_BYTES = 2 ** 31 - 1;

export const SNAPSHOTS_FOLDER = "snapshots";

export function snapshotFileName(name: string): string {
  return `${name}${FILE_EXTENSION}`;
}

export function nameOfSnapshotFile(fileName: string): string | undefined {
  const name = fileName.endsWith(FILE_EXTENSION) ? fileName.slice(0, -FILE_EXTENSION.length) : "";
  return SNAPSHOT_NAME_PATTERN.test(name) ? name : undefined;
}

const FILE_EXTENSION = ".snapshot";
