import { closeSync, openSync, readSync, statSync } from "node:fs";
import { checksum, FRAME, isSum, LOG, SALT_BYTES } from "./log-replay.ts";

/**
 * How many bytes of a -shm tell what is in the log, and how much of that is in the database (SQLite's WAL format, 2.1).
 * Behind them each reader says where it reads.
 */
export const INDEX_BYTES = 100;

/** Where a -shm keeps what. Its numbers are in the order of this machine; of the log it has the last sum and the salts. */
const INDEX = { version: 0, pageSize: 14, frames: 16, sum: 24, salt: 32, copied: 96 } as const;
const INDEX_VERSION = 3_007_000;
const IS_BIG_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 0;
const LARGEST_PAGE = 65_536;

const MAX_LOOKS = 20;

/**
 * Whether a log holds what the index in its -shm says that SQLite has written there: every frame, with its salts, and
 * the sum over all of them. Both are open files.
 */
export function isWholeLog(log: number, index: number): boolean {
  let before = readIndex(index);
  // Another process may commit between the reads of the two.
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    if (isDescribed(log, before)) return true;
    const now = readIndex(index);
    if (now.equals(before)) return false;
    before = now;
  }
  return false;
}

/**
 * Whether an index tells of commits that are in the log and not yet in the database. Undefined if there is no index, or
 * not a whole one.
 */
export function tellsOfLogAlone(path: string): boolean | undefined {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  const file = openSync(path, "r");
  try {
    const { getUint32 } = nativeOf(readIndex(file));
    const version = getUint32(INDEX.version);
    return version === INDEX_VERSION ? getUint32(INDEX.frames) > getUint32(INDEX.copied) : undefined;
  } finally {
    closeSync(file);
  }
}

function readIndex(file: number): Buffer {
  const index = Buffer.alloc(INDEX_BYTES);
  readSync(file, index, 0, index.length, 0);
  return index;
}

function isDescribed(file: number, index: Buffer): boolean {
  const { getUint16, getUint32 } = nativeOf(index);
  const frames = getUint32(INDEX.frames);
  // Nothing of the log is used, so nothing of it can be wrong.
  if (frames === 0) return true;
  const size = getUint16(INDEX.pageSize);
  const frame = Buffer.alloc(FRAME.bytes + (size === 1 ? LARGEST_PAGE : size));
  const header = Buffer.alloc(LOG.bytes);
  readSync(file, header, 0, header.length, 0);
  const salt = index.subarray(INDEX.salt, INDEX.salt + SALT_BYTES);
  if (!header.subarray(LOG.salt, LOG.salt + SALT_BYTES).equals(salt)) return false;
  const isBigEndian = (header.readUInt32BE(LOG.magic) & 1) === 1;
  let sum = checksum(header.subarray(0, LOG.checksum), { from: [0, 0], isBigEndian });
  for (let at = LOG.bytes, left = frames; left > 0; at += frame.length, left -= 1) {
    if (readSync(file, frame, 0, frame.length, at) !== frame.length) return false;
    if (!frame.subarray(FRAME.salt, FRAME.salt + SALT_BYTES).equals(salt)) return false;
    sum = checksum(frame.subarray(0, FRAME.salt), { from: sum, isBigEndian });
    sum = checksum(frame.subarray(FRAME.bytes), { from: sum, isBigEndian });
    if (!isSum(frame, FRAME.checksum, sum)) return false;
  }
  return sum[0] === getUint32(INDEX.sum) && sum[1] === getUint32(INDEX.sum + 4);
}

function nativeOf(bytes: Buffer) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return {
    getUint16: (at: number) => view.getUint16(at, !IS_BIG_ENDIAN),
    getUint32: (at: number) => view.getUint32(at, !IS_BIG_ENDIAN),
  };
}
