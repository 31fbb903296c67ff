/** Where SQLite keeps what in the header of a log. */
export const LOG = { bytes: 32, magic: 0, pageSize: 8, salt: 16, checksum: 24 } as const;
/** Where SQLite keeps what in the header of a frame of a log. */
export const FRAME = { bytes: 24, page: 0, commit: 4, salt: 8, checksum: 16 } as const;
/** How long the salts of a log are, which are in each of its frames too. */
export const SALT_BYTES = 8;
/** SQLite's mark of a log; its last bit tells the order of bytes in which checksums are made. */
const LOG_MAGIC = 0x377f0682;

/** A checksum of SQLite's. */
type Sum = readonly [number, number];

/**
 * A database with the committed frames of its log in their places, as SQLite would read both. A frame counts if the
 * salts and the checksum say that it follows the one before, and its commit is there.
 */
export function withLog(file: Buffer, log: Buffer): Buffer {
  if (log.length < LOG.bytes || (log.readUInt32BE(LOG.magic) & ~1) !== LOG_MAGIC) return file;
  const isBigEndian = (log.readUInt32BE(LOG.magic) & 1) === 1;
  const pageSize = log.readUInt32BE(LOG.pageSize);
  const salt = log.subarray(LOG.salt, LOG.salt + SALT_BYTES);
  let sum = checksum(log.subarray(0, LOG.checksum), { from: [0, 0], isBigEndian });
  if (!isSum(log, LOG.checksum, sum) || pageSize < 512 || pageSize > 65_536) return file;
  let image = file;
  let pending = new Map<number, Buffer>();
  for (let at = LOG.bytes; at + FRAME.bytes + pageSize <= log.length; at += FRAME.bytes + pageSize) {
    const head = log.subarray(at, at + FRAME.bytes);
    const page = log.subarray(at + FRAME.bytes, at + FRAME.bytes + pageSize);
    if (!head.subarray(FRAME.salt, FRAME.salt + SALT_BYTES).equals(salt)) break;
    sum = checksum(head.subarray(0, FRAME.salt), { from: sum, isBigEndian });
    sum = checksum(page, { from: sum, isBigEndian });
    if (!isSum(head, FRAME.checksum, sum)) break;
    pending.set(head.readUInt32BE(FRAME.page), page);
    const pages = head.readUInt32BE(FRAME.commit);
    if (pages === 0) continue;
    image = committed(image, { pending, pageSize, pages });
    pending = new Map();
  }
  return image;
}

/** The file after one commit, which says how many pages it has then. */
function committed(
  image: Buffer,
  {
    pending,
    pageSize,
    pages,
  }: { readonly pending: ReadonlyMap<number, Buffer>; readonly pageSize: number; readonly pages: number },
): Buffer {
  const bytes = pages * pageSize;
  const next = bytes <= image.length ? image.subarray(0, bytes) : Buffer.concat([image], bytes);
  for (const [page, content] of pending) content.copy(next, (page - 1) * pageSize);
  return next;
}

/** Whether a sum is the one that is kept at a place. */
export function isSum(bytes: Buffer, at: number, [one, other]: Sum): boolean {
  return bytes.readUInt32BE(at) === one && bytes.readUInt32BE(at + 4) === other;
}

/** SQLite's running checksum over words of 32 bits, two at a time. */
export function checksum(
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
