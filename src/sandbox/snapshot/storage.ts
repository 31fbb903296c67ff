export type SnapshotStorage = {
  readonly names: () => readonly string[];
  /** In bytes; undefined if no snapshot has this name. */
  readonly size: (name: string) => number | undefined;
  /** Undefined if no snapshot has this name. Throws if a snapshot file is larger than `MAX_SNAPSHOT_BYTES`. */
  readonly read: (name: string) => Uint8Array | undefined;
  /** Readers see either the old or the new snapshot. */
  readonly write: (name: string, bytes: Uint8Array) => void;
  /** Lets `fill` write the snapshot to a file, which is flushed without blocking. Undefined for a sandbox in memory. */
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
