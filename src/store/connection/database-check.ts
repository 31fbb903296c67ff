import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { accept, type Outcome } from "../../core/outcome.ts";
import {
  firstBoundVersion,
  inspectContent,
  inspectHead,
  openForReading,
  refuseOrphanedLog,
  checkForDamage,
  schemaVersion,
  withFileRefusal,
  type FileConnection,
  type FileRefusal,
  type OpenOptions,
} from "./database.ts";
import { readFilePart, fileSizeOf } from "./durable-files.ts";
import { judgeLog, LOG_HEADER_BYTES } from "./opening.ts";

/**
 * `bytes` includes the log. `schemaVersion` is null if the file is too large to check, or no consistent copy could be
 * made.
 */
type CheckedFile = {
  readonly bytes: number;
  readonly schemaVersion: number | null;
  readonly unreadableCount: number;
};

/** `countUnreadable` counts rows that the program cannot parse; without it, no rows are read. */
type CheckOptions = OpenOptions & {
  readonly scratchFolder: string;
  readonly countUnreadable?: (connection: FileConnection) => number;
};

/** A check takes 2 ms per MiB; the pages of larger files are not checked. */
const MAX_COPY_BYTES = 128 * 1024 * 1024;

const MAX_COPY_ATTEMPTS = 20;

/**
 * Checks a copy, because even a read-only connection creates files beside the database. The value is undefined if the
 * database does not exist.
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
    const headRefusal = inspectHead(path, options.kind);
    if (headRefusal !== undefined) return { ok: false, refusal: headRefusal };
    const bytes = fileSizeOf(path) + fileSizeOf(`${path}-wal`);
    try {
      mkdirSync(options.scratchFolder, { mode: 0o700 });
      const copyPath = bytes > MAX_COPY_BYTES ? undefined : copyWithLog(path, options);
      if (copyPath === undefined) return accept({ bytes, schemaVersion: null, unreadableCount: 0 });
      let [version, unreadableCount] = [0, 0];
      const open = (): FileConnection => openForReading(copyPath, options);
      const read = (connection: FileConnection): void => {
        version = schemaVersion(connection);
        unreadableCount = options.countUnreadable?.(connection) ?? 0;
      };
      const refusal = checkForDamage(path, options.kind, () =>
        inspectContent(path, options, { open, checksPages: true, read }),
      );
      if (refusal !== undefined) return { ok: false, refusal };
      return accept({ bytes, schemaVersion: version, unreadableCount });
    } finally {
      rmSync(options.scratchFolder, { recursive: true, force: true });
    }
  });
}

/**
 * A checkpoint during the copy does no harm: until the log's header changes, the log contains every page that a
 * checkpoint writes. Returns undefined if the header changed during each attempt.
 */
function copyWithLog(path: string, { scratchFolder, kind }: CheckOptions): string | undefined {
  const copyPath = join(scratchFolder, "copy.db");
  const logPath = `${path}-wal`;
  for (let attempt = 0; attempt < MAX_COPY_ATTEMPTS; attempt += 1) {
    rmSync(`${copyPath}-wal`, { force: true });
    const header = readFilePart(logPath, 0, LOG_HEADER_BYTES);
    copyFileSync(path, copyPath);
    if (existsSync(logPath) && judgeLog(path, firstBoundVersion(kind)) === "own")
      copyFileSync(logPath, `${copyPath}-wal`);
    if (readFilePart(logPath, 0, LOG_HEADER_BYTES).equals(header)) return copyPath;
  }
  return undefined;
}
