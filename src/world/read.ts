import {
  type Stats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  statSync,
} from "node:fs";
import type { ReadOptions } from "../world.ts";
import { FileRefused } from "../core/outcome.ts";
import { errorCodeOf } from "./node.ts";

type ReadPart = ReadOptions & { readonly offset?: number };
type FileContent = { readonly bytes: Buffer; readonly size: number };

const MAX_READ_BYTES = 16 * 1024 * 1024;

/**
 * Reads only regular files, because others may be endless (`/dev/zero`) or block (a pipe). Returns undefined if nothing
 * is at the path.
 */
export function readRegularFile(path: string, options: ReadPart = {}): FileContent | undefined {
  const { followsLinks = false } = options;
  try {
    requireRegular(path, followsLinks ? statSync(path) : lstatSync(path));
    const file = openSync(path, constants.O_RDONLY | NON_BLOCKING | (followsLinks ? 0 : NO_FOLLOW));
    try {
      const stats = fstatSync(file);
      requireRegular(path, stats);
      return { bytes: readUpTo(file, path, { ...options, size: stats.size }), size: stats.size };
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (MISSING_CODES.has(errorCodeOf(error))) return undefined;
    throw error;
  }
}

const MISSING_CODES: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTDIR", "ESRCH"]);

export function readText(path: string, options?: ReadOptions): string | undefined {
  return readRegularFile(path, options)?.bytes.toString("utf8");
}

function requireRegular(path: string, stats: Stats): void {
  if (stats.isFile()) return;
  throw new FileRefused(path, `is ${nounOf(stats)}, not an ordinary file`);
}

function nounOf(stats: Stats): string {
  if (stats.isDirectory()) return "a folder";
  if (stats.isSymbolicLink()) return "a symbolic link";
  if (stats.isFIFO()) return "a pipe";
  return stats.isSocket() ? "a socket" : "a device";
}

/** Does not rely on the size: files of /proc have none, and a log may grow during the read. */
function readUpTo(
  file: number,
  path: string,
  { offset = 0, maxBytes = MAX_READ_BYTES, size }: ReadPart & { readonly size: number },
): Buffer {
  const tooLargeError = (): FileRefused =>
    new FileRefused(path, `is too large: more than the ${maxBytes} bytes that are read of it`);
  if (size - offset > maxBytes) throw tooLargeError();
  if (offset > size) return Buffer.alloc(0);
  let bytes = Buffer.allocUnsafe(Math.max(size - offset, 0) + READ_AHEAD_BYTES);
  let readBytes = 0;
  for (;;) {
    const length = readSync(file, bytes, readBytes, bytes.length - readBytes, offset + readBytes);
    if (length === 0) return bytes.subarray(0, readBytes);
    readBytes += length;
    if (readBytes > maxBytes) throw tooLargeError();
    if (readBytes === bytes.length) bytes = Buffer.concat([bytes, Buffer.allocUnsafe(readBytes)]);
  }
}

/** Extra buffer space, so that reading the end of a file needs no second buffer. */
const READ_AHEAD_BYTES = 4096;

const FLAGS = constants as Readonly<Record<string, number | undefined>>;
export const NO_FOLLOW = FLAGS["O_NOFOLLOW"] ?? 0;
/** Prevents blocking when a pipe without a writer is opened. */
const NON_BLOCKING = FLAGS["O_NONBLOCK"] ?? 0;
