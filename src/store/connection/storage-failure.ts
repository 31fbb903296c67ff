import { isError } from "../../core/outcome.ts";

type FailureRow = {
  readonly errors: readonly string[];
  readonly sentence: string;
  readonly next: string;
};

/** The keys are the error codes of commands (decision 61). Extended SQLite codes take precedence over basic ones. */
const FAILURES = {
  disk_full: {
    errors: ["ENOSPC", "EDQUOT", "SQLITE_FULL"],
    sentence: "the disk is full",
    next: "free some disk space, and try again",
  },
  disk_io_error: {
    errors: ["EIO", "SQLITE_IOERR"],
    sentence: "the disk reported an I/O error",
    next: "check the disk and the system's log, and try again",
  },
  file_not_permitted: {
    errors: ["EACCES", "EPERM", "SQLITE_PERM"],
    sentence: "the permissions of a file or folder do not allow the operation",
    next: "check the owner and mode of the file and its folder, or use another folder with --dir",
  },
  file_read_only: {
    errors: ["EROFS", "SQLITE_READONLY"],
    sentence: "the file or its disk is read-only",
    next: "make it writable, or use another folder with --dir",
  },
  file_locked: {
    errors: ["EBUSY", "ETXTBSY", "SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL"],
    sentence: "another process keeps the file locked",
    next: "end the process that has the file open, and try again",
  },
  too_many_open_files: {
    errors: ["EMFILE", "ENFILE"],
    sentence: "too many files are open",
    next: "raise the limit of open files (ulimit -n), or end other processes, and try again",
  },
  file_missing: {
    errors: ["ENOENT", "ENOTDIR"],
    sentence: "a file or folder is missing",
    next: "check that the folder still exists, or use another folder with --dir",
  },
  file_too_large: {
    errors: ["EFBIG", "SQLITE_NOLFS", "ERR_FS_FILE_TOO_LARGE"],
    sentence: "a file is larger than this system allows",
    next: "raise the limit of file sizes (ulimit -f), or use another folder with --dir",
  },
  row_too_large: {
    errors: ["SQLITE_TOOBIG"],
    sentence: "a row is larger than this database allows",
    next: "send fewer requests at the same time",
  },
  path_not_usable: {
    errors: ["ENAMETOOLONG", "ELOOP", "EISDIR"],
    sentence: "the path cannot be used",
    next: "use another path",
  },
  file_not_opened: {
    errors: ["SQLITE_CANTOPEN"],
    sentence: "a file of the database cannot be opened",
    next: "check that its folder exists and is writable, and try again",
  },
  out_of_memory: {
    errors: ["ENOMEM", "SQLITE_NOMEM", "SQLITE_IOERR_NOMEM"],
    sentence: "there is not enough memory",
    next: "end other processes, and try again",
  },
  database_changed: {
    errors: ["SQLITE_READONLY_DBMOVED"],
    sentence: "a database file was deleted, replaced or truncated by another program while it was open",
    next: "stop the sandbox, restore the files or move the folder away, and start again",
  },
  database_damaged: {
    errors: ["SQLITE_CORRUPT", "SQLITE_NOTADB"],
    sentence: "the database is damaged",
    next: "move the file away, or use another folder with --dir",
  },
  program_incomplete: {
    errors: ["ERR_DLOPEN_FAILED"],
    sentence: "a part of the program cannot be loaded",
    next: "check the disk on which checkout is installed, or install checkout again; the executable keeps this part in a cache folder: its disk must allow programs, and XDG_CACHE_HOME names another",
  },
  no_cache_folder: {
    errors: ["ERR_ADDON_NOT_WRITTEN"],
    sentence:
      "the executable can write a part of itself neither into its cache folder nor into a temporary folder",
    next: "name a private folder of this user with XDG_CACHE_HOME",
  },
  file_operation_failed: {
    errors: [],
    sentence: "an operation on a file failed",
    next: "check the disk and the system's log, and try again",
  },
} as const satisfies Readonly<Record<string, FailureRow>>;

export type StorageFailureCode = keyof typeof FAILURES;

type StorageFailure = Pick<FailureRow, "sentence" | "next"> & { readonly code: StorageFailureCode };

/** `detail`: the message of the operating system or of SQLite. */
export type Cause = { readonly failure: StorageFailure; readonly detail: string };

export class StorageUnavailable extends Error {
  override readonly name = "StorageUnavailable";
  readonly failure: StorageFailure;

  constructor(failure: StorageFailure, options?: ErrorOptions & { readonly detail?: string | undefined }) {
    super(`${failure.sentence}${options?.detail === undefined ? "" : ` (${options.detail})`}`, options);
    this.failure = failure;
  }
}

const FAILURE_CODES = Object.keys(FAILURES) as readonly StorageFailureCode[];

const CODE_BY_ERROR: ReadonlyMap<string, StorageFailureCode> = new Map(
  FAILURE_CODES.flatMap((code) => FAILURES[code].errors.map((error) => [error, code] as const)),
);

export function storageFailure(code: StorageFailureCode): StorageFailure {
  const { sentence, next } = FAILURES[code];
  return { code, sentence, next };
}

export function isStorageFailureCode(code: string): code is StorageFailureCode {
  return Object.hasOwn(FAILURES, code);
}

const NAME_BY_NUMBER: Readonly<Record<number, string>> = { 7: "SQLITE_NOMEM", 10: "SQLITE_IOERR" };

export function failureInVerdict(verdict: string): StorageFailure | undefined {
  const [, number] = /error code=(\d+)/.exec(verdict) ?? [];
  // The lowest byte of an extended code is its basic code.
  const code =
    number === undefined ? undefined : CODE_BY_ERROR.get(NAME_BY_NUMBER[Number(number) & 0xff] ?? "");
  return code && storageFailure(code);
}

/** Compared by name, because jest loads a separate class for each test file. */
export function isSqliteError(error: unknown): error is Error & { readonly code: string } {
  return isError(error) && error.name === "SqliteError";
}

export function storageFailureOf(error: unknown): StorageFailure | undefined {
  return causeOfError(error)?.failure;
}

export function causeOfError(error: unknown): Cause | undefined {
  if (error instanceof StorageUnavailable) return { failure: error.failure, detail: error.message };
  return (isError(error) ? FOUND_CAUSES.get(error) : undefined) ?? causeByCode(error);
}

/** Judges by the code alone, without examining files; undefined for errors that are not storage failures. */
export function causeByCode(error: unknown): Cause | undefined {
  if (!isError(error) || !("code" in error) || typeof error.code !== "string") return undefined;
  const { code, message } = error;
  const [primaryCode = ""] = /^SQLITE_[A-Z]+|^E[A-Z0-9]+$/.exec(code) ?? [];
  const failureCode = CODE_BY_ERROR.get(code) ?? CODE_BY_ERROR.get(primaryCode);
  if (failureCode !== undefined) return { failure: storageFailure(failureCode), detail: message };
  return isFileError(error) ? { failure: otherFailure(code), detail: message } : undefined;
}

const FOUND_CAUSES = new WeakMap<Error, Cause>();

export function hasCause(error: Error): boolean {
  return FOUND_CAUSES.has(error);
}

export function noteCause(error: Error, cause: Cause): Cause {
  FOUND_CAUSES.set(error, cause);
  return cause;
}

/** Node's names of system calls whose errors are not about files. */
const NON_FILE_CALLS =
  /^(connect|bind|listen|accept|shutdown|getaddrinfo|getnameinfo|query\w+|spawn.*|kill)$/;

function isFileError(error: object): boolean {
  if (!("code" in error && "errno" in error && "syscall" in error)) return false;
  const { code, errno, syscall } = error;
  if (typeof errno !== "number" || typeof code !== "string" || typeof syscall !== "string") return false;
  return /^E[A-Z0-9]+$/.test(code) && !NON_FILE_CALLS.test(syscall);
}

function otherFailure(code: string): StorageFailure {
  const { sentence, ...failure } = storageFailure("file_operation_failed");
  return { ...failure, sentence: `${sentence} with ${code}` };
}
