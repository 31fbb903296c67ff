import { join } from "node:path";
import { nameOfSnapshotFile, snapshotFileName } from "../../core/snapshot/snapshot.ts";
import type { SnapshotShelf } from "../../sandbox/snapshot/shelf.ts";
import type { World } from "../../world.ts";
import { stateFile } from "./files.ts";

/** The snapshots of a state folder: files of its owner alone, made with the first of them. */
export function snapshotsIn({ files }: Pick<World, "files">, folder: string): SnapshotShelf {
  const path = stateFile(folder, "snapshots");
  const fileOf = (name: string): string => join(path, snapshotFileName(name));
  return {
    names: () =>
      files.exists(path) ? files.list(path).flatMap((file) => nameOfSnapshotFile(file) ?? []) : [],
    read: (name) => files.readBytes(fileOf(name)),
    write: (name, bytes) => {
      files.makeFolder(path);
      files.removeUnfinished(path);
      files.write(fileOf(name), bytes);
    },
    remove: (name) => files.remove(fileOf(name)),
  };
}
