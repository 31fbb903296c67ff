export type SnapshotStorage = {
  readonly names: () => readonly string[];
  /** In bytes; undefined if there is no snapshot of this name. */
  readonly size: (name: string) => number | undefined;
  /** Undefined if there is none. Throws if the snapshot is larger than `MAX_SNAPSHOT_BYTES`. */
  readonly read: (name: string) => Uint8Array | undefined;
  /** A reader gets the whole old or the whole new snapshot. */
  readonly write: (name: string, bytes: Uint8Array) => void;
  /** `fill` writes a file at a path, which is flushed without blocking. Undefined for a sandbox in memory. */
  readonly fill:
    | (<Value>(name: string, fill: (path: string) => Promise<Value>) => Promise<Value>)
    | undefined;
  readonly remove: (name: string) => void;
};

export function snapshotsInMemory(): SnapshotStorage {
  const keptFiles = new Map<string, Uint8Array>();
  return {
    names: () => [...keptFiles.keys()],
    size: (name) => keptFiles.get(name)?.length,
    read: (name) => keptFiles.get(name),
    write: (name, bytes) => void keptFiles.set(name, bytes),
    fill: undefined,
    remove: (name) => void keptFiles.delete(name),
  };
}
