import { closeSync, openSync, readSync, statSync } from "node:fs";

/** Offsets in the header of a log, and in the header of each frame (SQLite's WAL format). */
const LOG = { bytes: 32, magic: 0, pageSize: 8, salt: 16, checksum: 24 } as const;
const FRAME = { bytes: 24, page: 0, pages: 4, salt: 8, checksum: 16 } as const;
const SALT_BYTES = 8;
/** SQLite's magic number for a log; its last bit gives the byte order of the checksums. */
const LOG_MAGIC = 0x377f0682;

/** A running checksum of SQLite: two sums. */
type Sum = readonly [number, number];

/** Fills a buffer from a position of a log, and returns the number of bytes read. */
type Read = (buffer: Buffer, at: number) => number;

/** One page of a log. */
type Frame = {
  readonly page: number;
  /** The bytes of the page, valid until the next frame is read. */
  readonly content: Buffer;
  /** The number of pages of the database after the commit that ends here; 0 within a commit. */
  readonly pages: number;
  /** The running checksum of the log at this frame, if checksums are checked. */
  readonly sum: Sum;
};

/**
 * The frames of a log, which all have the salts of the log. With `sums`, only the frames that SQLite would read: each
 * checksum continues the previous checksum, and computing the checksums takes longer than reading the log.
 */
function* readFrames(check: "salts" | "sums", read: Read): Generator<Frame, void, undefined> {
  const header = Buffer.alloc(LOG.bytes);
  read(header, 0);
  const magic = header.readUInt32BE(LOG.magic);
  const pageSize = header.readUInt32BE(LOG.pageSize);
  if ((magic & ~1) !== LOG_MAGIC || pageSize < 512 || pageSize > 65_536) return;
  const isBigEndian = (magic & 1) === 1;
  let sum = checksum(header.subarray(0, LOG.checksum), { from: [0, 0], isBigEndian });
  if (!isSum(header, LOG.checksum, sum)) return;
  // Allocating a buffer for each frame would take longer than reading the frame.
  const frame = Buffer.alloc(FRAME.bytes + pageSize);
  const content = frame.subarray(FRAME.bytes);
  for (let at = LOG.bytes; ; at += frame.length) {
    if (read(frame, at) !== frame.length) return;
    if (frame.compare(header, LOG.salt, LOG.salt + SALT_BYTES, FRAME.salt, FRAME.salt + SALT_BYTES) !== 0)
      return;
    if (check === "sums") {
      sum = checksum(frame.subarray(0, FRAME.salt), { from: sum, isBigEndian });
      sum = checksum(content, { from: sum, isBigEndian });
      if (!isSum(frame, FRAME.checksum, sum)) return;
    }
    yield { page: frame.readUInt32BE(FRAME.page), pages: frame.readUInt32BE(FRAME.pages), content, sum };
  }
}

/** The frames of an open log. `check`: whether only salts or also checksums are checked. */
export function framesOf(file: number, check: "salts" | "sums"): Iterable<Frame> {
  return readFrames(check, (buffer, at) => readSync(file, buffer, 0, buffer.length, at));
}

/** Applies the committed frames of a log to its database, as SQLite would read both. */
export function applyLog(file: Buffer, log: Buffer): Buffer {
  let image = file;
  let pending: Frame[] = [];
  for (const frame of readFrames("sums", (buffer, at) => log.copy(buffer, 0, at))) {
    pending.push({ ...frame, content: Buffer.from(frame.content) });
    if (frame.pages === 0) continue;
    const bytes = frame.pages * frame.content.length;
    image = bytes <= image.length ? image.subarray(0, bytes) : Buffer.concat([image], bytes);
    for (const { page, content } of pending) content.copy(image, (page - 1) * content.length);
    pending = [];
  }
  return image;
}

/** Number of bytes in a -shm that describe the log. They are followed by the positions of readers. */
export const INDEX_BYTES = 100;

/** Offsets in a -shm, in 32-bit numbers of this machine's byte order. */
const INDEX = { version: 0, frames: 4, sum: 6, copied: 24 } as const;
const INDEX_VERSION = 3_007_000;

const MAX_LOOKS = 20;

/**
 * Whether a log contains every frame that the index in its -shm describes. The running checksum of the last frame
 * verifies all frames and the header. Both parameters are open files.
 */
export function isWholeLog(log: number, index: number): boolean {
  let before = readIndex(index);
  // Another process may commit between the two reads.
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    if (isDescribed(log, before)) return true;
    const now = readIndex(index);
    if (now.every((number, at) => number === before[at])) return false;
    before = now;
  }
  return false;
}

/**
 * Whether an index describes commits that are in the log but not yet in the database. Undefined if there is no complete
 * index.
 */
export function hasCommitsOnlyInLog(path: string): boolean | undefined {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  const file = openSync(path, "r");
  try {
    const {
      [INDEX.version]: version,
      [INDEX.frames]: frames = 0,
      [INDEX.copied]: copied = 0,
    } = readIndex(file);
    return version === INDEX_VERSION ? frames > copied : undefined;
  } finally {
    closeSync(file);
  }
}

function readIndex(file: number): Uint32Array {
  const index = new Uint32Array(INDEX_BYTES / Uint32Array.BYTES_PER_ELEMENT);
  readSync(file, index, 0, INDEX_BYTES, 0);
  return index;
}

function isDescribed(log: number, index: Uint32Array): boolean {
  let left = index[INDEX.frames];
  // No part of the log is used, so none can be wrong.
  if (left === undefined || left === 0) return true;
  for (const { sum } of framesOf(log, "sums")) {
    left -= 1;
    if (left === 0) return sum[0] === index[INDEX.sum] && sum[1] === index[INDEX.sum + 1];
  }
  return false;
}

/** Whether a checksum equals the checksum stored at an offset. */
function isSum(bytes: Buffer, at: number, [one, other]: Sum): boolean {
  return bytes.readUInt32BE(at) === one && bytes.readUInt32BE(at + 4) === other;
}

/** SQLite's running checksum over 32-bit words, two at a time. */
function checksum(
  bytes: Buffer,
  { from, isBigEndian }: { readonly from: Sum; readonly isBigEndian: boolean },
): Sum {
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let [one, other] = from;
  for (let at = 0; at + 8 <= words.byteLength; at += 8) {
    one = (one + words.getInt32(at, !isBigEndian) + other) | 0;
    other = (other + words.getInt32(at + 4, !isBigEndian) + one) | 0;
  }
  return [one >>> 0, other >>> 0];
}
