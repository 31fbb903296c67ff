/** Where a sandbox keeps its named snapshots: files of its folder, or its memory, which ends with it. */
export type SnapshotShelf = {
  readonly names: () => readonly string[];
  /** How many bytes one of this name has; undefined where there is none. Reads none of them. */
  readonly size: (name: string) => number | undefined;
  /** Undefined where there is none of this name. Throws for one that is larger than `MAX_SNAPSHOT_BYTES`. */
  readonly read: (name: string) => Uint8Array | undefined;
  /** Puts a snapshot under a name, replacing an older one: whoever reads gets the one or the other, whole. */
  readonly write: (name: string, bytes: Uint8Array) => void;
  /** The same of a file that `fill` writes at a path, and that is flushed beside other work; undefined in memory. */
  readonly fill:
    | (<Value>(name: string, fill: (path: string) => Promise<Value>) => Promise<Value>)
    | undefined;
  readonly remove: (name: string) => void;
};

/** Named snapshots of a sandbox that keeps nothing. */
export function shelfInMemory(): SnapshotShelf {
  const kept = new Map<string, Uint8Array>();
  return {
    names: () => [...kept.keys()],
    size: (name) => kept.get(name)?.length,
    read: (name) => kept.get(name),
    write: (name, bytes) => void kept.set(name, bytes),
    fill: undefined,
    remove: (name) => void kept.delete(name),
  };
}
