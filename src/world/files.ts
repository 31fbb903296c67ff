import {
  type BigIntStats,
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  promises,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  statfsSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { DiskFacts, Files, PathFacts, WriteOptions } from "../world.ts";
import { clearInterval, setInterval } from "./clock.ts";
import { errorCodeOf } from "./node.ts";
import { processStartTime } from "./processes.ts";
import { readRegularFile, readText } from "./read.ts";

export const files: Files = {
  read: readText,
  readBytes: (path, options) => readRegularFile(path, options)?.bytes,
  size: (path) => readRegularFile(path, { offset: Number.MAX_SAFE_INTEGER })?.size,
  write: (path, content, options) =>
    writeNamed(path, { content, options }, (temporaryPath) => renameSync(temporaryPath, path)),
  fill: async (path, fill) => {
    const temporaryPath = temporaryName(path);
    try {
      writeNew(temporaryPath, { content: "" });
      const value = await fill(temporaryPath);
      await flush(temporaryPath, "r+");
      await promises.rename(temporaryPath, path);
      await flushFolderLater(dirname(path));
      return value;
    } finally {
      discardFile(temporaryPath);
    }
  },
  createNew: (path, content, options) => {
    if (existsSync(path)) return false;
    try {
      writeNamed(path, { content, options }, (temporaryPath) => linkSync(temporaryPath, path));
      return true;
    } catch (error) {
      if (errorCodeOf(error) === "EEXIST") return false;
      // File systems without hard links report different codes, so every other error is tried again without links.
      return createInPlace(path, content);
    }
  },
  remove: (path) => {
    try {
      unlinkSync(path);
    } catch (error) {
      if (errorCodeOf(error) !== "ENOENT") throw error;
    }
  },
  rename: (from, to) => {
    renameSync(from, to);
    flushFolder(dirname(to));
  },
  removeUnfinishedFiles: (folder) => {
    for (const name of readdirSync(folder)) {
      const pid = UNFINISHED_NAME.exec(name)?.[1];
      if (pid !== undefined && processStartTime(Number(pid)) === undefined) discardFile(join(folder, name));
    }
  },
  makeFolder,
  stat: (path) => {
    const stats = lstatSync(path, { throwIfNoEntry: false, bigint: true });
    return stats && factsOf(stats);
  },
  realPath: (path) => realpathSync.native(path),
  list: (path) => readdirSync(path),
  makePrivate: (folder) => {
    const file = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      fchmodSync(file, 0o700);
    } finally {
      closeSync(file);
    }
  },
  exists: (path) => existsSync(path),
  disk: diskOf,
  readFrom: (path, offset) => readRegularFile(path, { offset }),
};

const UNFINISHED_NAME = /\.(\d+)\.new-\w+(?:-journal)?$/;

export function temporaryName(path: string): string {
  return `${path}.${process.pid}.new-${Math.random().toString(36).slice(2)}`;
}

/** Creates one level at a time: Node's recursive mkdir hides a read-only disk, and never returns below /proc. */
function makeFolder(path: string): void {
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) makeFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

type NewFile = { readonly content: string | Uint8Array; readonly options?: WriteOptions | undefined };

/** `name` gives the file its final name when it is complete and on disk. */
function writeNamed(path: string, file: NewFile, name: (unfinished: string) => void): void {
  const temporaryPath = temporaryName(path);
  try {
    writeNew(temporaryPath, file);
    name(temporaryPath);
  } finally {
    discardFile(temporaryPath);
  }
  if (file.options?.endsWithProcess !== true) flushFolder(dirname(path));
}

function createInPlace(path: string, content: string | Uint8Array): boolean {
  let isCreated = false;
  try {
    const file = openSync(path, "wx", 0o600);
    isCreated = true;
    writeOpened(file, { content });
  } catch (error) {
    if (isCreated) discardFile(path);
    else if (errorCodeOf(error) === "EEXIST") return false;
    throw error;
  }
  flushFolder(dirname(path));
  return true;
}

function writeNew(path: string, file: NewFile): void {
  writeOpened(openSync(path, "wx", 0o600), file);
}

function writeOpened(file: number, { content, options }: NewFile): void {
  try {
    writeFileSync(file, content);
    if (options?.endsWithProcess !== true) fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Returns false instead of throwing, which would hide an earlier error. A later command removes unfinished files by the
 * pid in their names.
 */
export function discardFile(path: string): boolean {
  try {
    rmSync(path, { recursive: true, force: true });
    return true;
  } catch {
    return false;
  }
}

/** Makes the file name survive a power failure; Windows and some file systems do not support this. */
function flushFolder(folder: string): void {
  if (process.platform === "win32") return;
  let file: number | undefined;
  try {
    file = openSync(folder, "r");
    fsyncSync(file);
  } catch (error) {
    throwUnlessUnsupported(error);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

async function flushFolderLater(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  await flush(folder, "r").catch(throwUnlessUnsupported);
}

async function flush(path: string, flags: string): Promise<void> {
  const file = await promises.open(path, flags);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

function throwUnlessUnsupported(error: unknown): void {
  if (!UNSUPPORTED_CODES.has(errorCodeOf(error))) throw error;
}

const UNSUPPORTED_CODES: ReadonlySet<string | undefined> = new Set([
  "EINVAL",
  "ENOTSUP",
  "ENOSYS",
  "EPERM",
  "EACCES",
  "EBADF",
  "EISDIR",
]);

function factsOf(stats: BigIntStats): PathFacts {
  const user = process.getuid?.();
  const mode = user === undefined ? 0 : Number(stats.mode);
  return {
    kind: kindOf(stats),
    isOwn: user === undefined || Number(stats.uid) === user,
    writableBy:
      (mode & 0o022) === 0
        ? "owner"
        : (mode & 0o002) === 0 && Number(stats.gid) === user
          ? "own group"
          : "others",
    openTo: (mode & 0o022) !== 0 ? "writers" : (mode & 0o077) !== 0 ? "readers" : "nobody",
    changedAt: Number(stats.mtimeMs),
    id: `${stats.dev}:${stats.ino}`,
  };
}

function kindOf(stats: BigIntStats): PathFacts["kind"] {
  if (stats.isDirectory()) return "folder";
  if (stats.isFile()) return "file";
  return stats.isSymbolicLink() ? "link" : "other";
}

const CHECK_INTERVAL_MS = 1000;
/** Consecutive checks that a file must miss to count as lost, because it may be moved away for a moment. */
const MAX_MISSES = 2;

export function onFileLost(path: string, onLost: () => void): () => void {
  const idOf = (): string | undefined => files.stat(path)?.id;
  const ownId = idOf();
  let misses = 0;
  const timer = setInterval(() => {
    try {
      misses = idOf() === ownId ? 0 : misses + 1;
    } catch {
      // A failing disk does not mean that the file is lost.
      return;
    }
    if (misses !== MAX_MISSES) return;
    clearInterval(timer);
    onLost();
  }, CHECK_INTERVAL_MS).unref();
  return () => clearInterval(timer);
}

const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  0xef53: "ext4",
  0x58465342: "xfs",
  0x9123683e: "btrfs",
  0x2fc12fc1: "zfs",
  0x01021994: "tmpfs",
  0x794c7630: "overlay",
  0x6969: "nfs",
  0xff534d42: "cifs",
  0xfe534d42: "smb2",
  0x01021997: "9p",
  0x65735546: "fuse",
  0x4d44: "vfat",
  0x5346544e: "ntfs",
};

function diskOf(path: string): DiskFacts {
  const { bavail, bsize, type } = statfsSync(path);
  const fileSystem = process.platform === "linux" ? FILE_SYSTEMS[type >>> 0] : undefined;
  return { freeBytes: bavail * bsize, isWritable: isWritable(path), fileSystem };
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
