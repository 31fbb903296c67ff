import { join } from "node:path";
import { MAX_SNAPSHOT_BYTES, nameOfSnapshotFile, snapshotFileName } from "../../core/snapshot/snapshot.ts";
import type { SnapshotStorage } from "../../sandbox/snapshot/storage.ts";
import type { World } from "../../world.ts";
import { stateFile } from "./files.ts";

export type SnapshotFiles = SnapshotStorage & {
  readonly rename: (from: string, to: string) => void;
};

export function snapshotsIn({ files }: Pick<World, "files">, folder: string): SnapshotFiles {
  const path = stateFile(folder, "snapshots");
  const fileOf = (name: string): string => join(path, snapshotFileName(name));
  const isFile = (file: string): boolean => files.stat(file)?.kind === "file";
  const prepare = (): void => {
    files.makeFolder(path);
    files.removeUnfinishedFiles(path);
  };
  return {
    names: () =>
      files.exists(path)
        ? files
            .list(path)
            .flatMap((file) => (isFile(join(path, file)) ? (nameOfSnapshotFile(file) ?? []) : []))
        : [],
    size: (name) => (isFile(fileOf(name)) ? files.size(fileOf(name)) : undefined),
    read: (name) =>
      isFile(fileOf(name)) ? files.readBytes(fileOf(name), { maxBytes: MAX_SNAPSHOT_BYTES }) : undefined,
    write: (name, bytes) => {
      prepare();
      files.write(fileOf(name), bytes);
    },
    fill: (name, fill) => {
      prepare();
      return files.fill(fileOf(name), fill);
    },
    rename: (from, to) => files.rename(fileOf(from), fileOf(to)),
    remove: (name) => files.remove(fileOf(name)),
  };
}
