import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { accept, type Outcome } from "../../core/outcome.ts";
import {
  firstTiedVersion,
  inspectContent,
  inspectHead,
  openToRead,
  refuseOrphanedLog,
  checkForDamage,
  schemaVersion,
  withFileRefusal,
  type FileConnection,
  type FileRefusal,
  type OpenOptions,
} from "./database.ts";
import { judgeLog } from "./opening.ts";

/** A usable database file: its size including its log, and its schema version if the whole file was checked. */
type CheckedFile = {
  readonly bytes: number;
  /** `head`: only the header, because the file is too large. `busy`: it changed at every read. */
  readonly checked: "whole" | "head" | "busy";
  readonly format: number | null;
  /** The number of unreadable lines, if the check counts them; otherwise 0. */
  readonly unreadable: number;
};

/** Options of a check. `countUnreadable` reads all rows as the program does. Default: rows are not read. */
type CheckOptions = OpenOptions & {
  /** The path of a folder for the checked copy; the check makes and removes it. */
  readonly scratch: string;
  readonly countUnreadable?: (connection: FileConnection) => number;
};

/** Maximum size of a file that is checked page by page, in bytes; a check takes 2 ms per MiB. */
const MAX_COPY_BYTES = 128 * 1024 * 1024;

/** Maximum number of copies of a file that another process is writing to. */
const MAX_LOOKS = 20;

/** On a copy: even a read-only connection creates and changes files next to it. Undefined if there is no file. */
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
    if (bytes > MAX_COPY_BYTES) return accept({ bytes, checked: "head", format: null, unreadable: 0 });
    try {
      mkdirSync(options.scratch, { mode: 0o700 });
      const copy = copyWhole(path, options);
      if (copy === undefined) return accept({ bytes, checked: "busy", format: null, unreadable: 0 });
      return checkCopy(path, copy, options, bytes);
    } finally {
      rmSync(options.scratch, { recursive: true, force: true });
    }
  });
}

/** Checks the pages and rows of a copy; refusals name the path of the original. */
function checkCopy(
  path: string,
  copy: string,
  options: CheckOptions,
  bytes: number,
): Outcome<CheckedFile, FileRefusal> {
  let [format, unreadable] = [0, 0];
  const open = (): FileConnection => openToRead(copy, options);
  const refusal = checkForDamage(path, options.kind, () => {
    const refused = inspectContent(path, options, { open, checksPages: true });
    if (refused !== undefined) return refused;
    const connection = open();
    try {
      format = schemaVersion(connection);
      unreadable = options.countUnreadable?.(connection) ?? 0;
    } finally {
      connection.close();
    }
    return undefined;
  });
  return refusal === undefined
    ? accept({ bytes, checked: "whole", format, unreadable })
    : { ok: false, refusal };
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * A copy of a database with its own log, at one moment. While the log keeps its header, it only grows, and contains
 * every page that may be copied into the file meanwhile. So a file that was copied before its log is complete together
 * with the log. Undefined if the log was begun anew at every look.
 */
function copyWhole(path: string, { scratch, kind }: CheckOptions): string | undefined {
  const copy = join(scratch, "copy.db");
  const log = `${path}-wal`;
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    rmSync(`${copy}-wal`, { force: true });
    const before = headerOf(log);
    copyFileSync(path, copy);
    if (existsSync(log) && judgeLog(path, firstTiedVersion(kind)) === "own") copyFileSync(log, `${copy}-wal`);
    if (headerOf(log) === before) return copy;
  }
  return undefined;
}

const LOG_HEADER_BYTES = 32;

function headerOf(log: string): string {
  return existsSync(log) ? readFileSync(log).toString("hex", 0, LOG_HEADER_BYTES) : "";
}
