import Database from "better-sqlite3";
import { existsSync, readFileSync, statSync } from "node:fs";
import { accept, type Outcome } from "../../core/outcome.ts";
import {
  schemaVersion,
  inspectContent,
  inspectHead,
  refuseOrphanedLog,
  checkForDamage,
  withFileRefusal,
  type FileConnection,
  type FileRefusal,
  type OpenOptions,
} from "./database.ts";
import { applyLog } from "./log.ts";

/** A usable database file: its size including its log, and its schema version if the whole file was checked. */
type CheckedFile = {
  readonly bytes: number;
  /**
   * `whole`: every page was checked. The others mean that only the header was checked: `head`, because the file is too
   * large; `busy`, because the file changed at every read.
   */
  readonly checked: "whole" | "head" | "busy";
  readonly format: number | null;
  /** The number of unreadable lines, if the check counts them; otherwise 0. */
  readonly unreadable: number;
};

/** Options of a check. `countUnreadable` reads all rows as the program does. Default: rows are not read. */
type CheckOptions = OpenOptions & {
  readonly countUnreadable?: (connection: FileConnection) => number;
};

/**
 * Maximum size of a file that is checked page by page, in bytes: in memory it takes twice its size, and a check takes 2
 * ms per MiB.
 */
const MAX_IMAGE_BYTES = 128 * 1024 * 1024;

/** Maximum number of reads of a file that another process is writing to. */
const MAX_LOOKS = 20;

/**
 * Checks a database file as a start does, and more thoroughly, but without opening it in SQLite: even a read-only
 * connection creates and changes files next to it. The file and its log are read into memory and checked there, even
 * while a sandbox writes to them. Undefined if there is no file.
 */
export function checkDatabase(
  path: string,
  options: CheckOptions,
): Outcome<CheckedFile | undefined, FileRefusal> {
  return withFileRefusal<CheckedFile | undefined>(path, options, () => {
    if (!existsSync(path)) {
      const refusal = refuseOrphanedLog(path);
      return refusal === undefined ? accept(undefined) : { ok: false, refusal };
    }
    const head = inspectHead(path, options.kind);
    if (head !== undefined) return { ok: false, refusal: head };
    const bytes = sizeOf(path) + sizeOf(`${path}-wal`);
    if (bytes > MAX_IMAGE_BYTES) return accept({ bytes, checked: "head", format: null, unreadable: 0 });
    const image = readImage(path);
    if (image === undefined) return accept({ bytes, checked: "busy", format: null, unreadable: 0 });
    let [format, unreadable] = [0, 0];
    const refusal = checkForDamage(path, options.kind, () => {
      const opened = (): FileConnection => {
        const connection = openImage(image, options);
        format = schemaVersion(connection);
        return connection;
      };
      const refused = inspectContent(path, options, opened);
      if (refused === undefined && options.countUnreadable !== undefined)
        unreadable = inImage(opened(), options.countUnreadable);
      return refused;
    });
    return refusal === undefined
      ? accept({ bytes, checked: "whole", format, unreadable })
      : { ok: false, refusal };
  });
}

function inImage<Value>(connection: FileConnection, read: (connection: FileConnection) => Value): Value {
  try {
    return read(connection);
  } finally {
    connection.close();
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * The content of a database with its log, at one moment. While the log keeps its header, it only grows, and contains
 * every page that may be copied into the file meanwhile. So a file that was read before its log is complete together
 * with the log. Undefined if the log was restarted at every read.
 */
function readImage(path: string): Buffer | undefined {
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    const before = headerOf(readLog(path));
    const file = readFileSync(path);
    const log = readLog(path);
    if (headerOf(log) === before && headerOf(readLog(path)) === before) return applyLog(file, log);
  }
  return undefined;
}

/** The log of a database; empty if there is none. */
function readLog(path: string): Buffer {
  const log = `${path}-wal`;
  return existsSync(log) ? readFileSync(log) : Buffer.alloc(0);
}

const LOG_HEADER_BYTES = 32;

function headerOf(log: Buffer): string {
  return log.toString("hex", 0, LOG_HEADER_BYTES);
}

/** The header's offset of the journal mode. A database in memory has no log, so it needs 1: a rollback journal. */
const WRITE_VERSION_OFFSET = 18;

function openImage(image: Buffer, { nativeBinding }: OpenOptions): Database.Database {
  image.fill(1, WRITE_VERSION_OFFSET, WRITE_VERSION_OFFSET + 2);
  return new Database(image, { nativeBinding });
}
