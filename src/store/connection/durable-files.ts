import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdtempSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { isError } from "../../core/outcome.ts";

/** `pid` is part of the names of unfinished files, so that a later process can find and remove them. */
type WriterProcess = { readonly pid?: number | undefined };

/** Readers see either the old or the new file, which is on disk when the call returns. */
export function replaceFile(path: string, text: string, writer: WriterProcess): void {
  withTemporaryFolderBeside(path, writer, (temporaryPath) => {
    writeFileSync(temporaryPath, text);
    flush(temporaryPath);
    renameSync(temporaryPath, path);
    flushFolder(dirname(path));
  });
}

export function withTemporaryFolderBeside<Value>(
  path: string,
  { pid = 0 }: WriterProcess,
  work: (temporaryPath: string) => Value,
): Value {
  const folder = mkdtempSync(`${path}.${pid}.new-`);
  const temporaryPath = join(folder, "whole.db");
  try {
    // SQLite would create the file with the umask of the process; -wal and -shm get the mode of this file.
    closeSync(openSync(temporaryPath, "wx", 0o600));
    return work(temporaryPath);
  } finally {
    discard(folder);
  }
}

/**
 * Returns false instead of throwing, because an error here would hide an earlier one; a later command removes the
 * folder.
 */
function discard(folder: string): boolean {
  try {
    rmSync(folder, { recursive: true, force: true });
    return true;
  } catch {
    return false;
  }
}

export function publishNewFile(temporaryPath: string, path: string): void {
  try {
    linkSync(temporaryPath, path);
  } catch (error) {
    if (existsSync(path)) return;
    // Without hard links, the last of two processes that create the file wins.
    if (!isError(error)) throw error;
    renameSync(temporaryPath, path);
  }
}

export function flush(path: string): void {
  const file = openSync(path, "r+");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Makes new and renamed files survive a power failure. Does nothing where folders cannot be flushed, as on Windows. */
export function flushFolder(folder: string): void {
  let file: number | undefined;
  try {
    file = openSync(folder, "r");
    fsyncSync(file);
  } catch (error) {
    const isRefusedFlush = isError(error) && "code" in error && REFUSED_FLUSH_CODES.has(error.code);
    if (!isRefusedFlush) throw error;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

const REFUSED_FLUSH_CODES: ReadonlySet<unknown> = new Set(["EISDIR", "EPERM", "EACCES", "EINVAL", "ENOTSUP"]);

export function fileSizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

export function readFilePart(path: string, offset: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    return bytes.subarray(0, readSync(file, bytes, 0, length, offset));
  } catch (error) {
    if (isError(error) && "code" in error && error.code === "ENOENT") return bytes.subarray(0, 0);
    throw error;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
