import type { FileConnection } from "./database.ts";
import type { FileWatch } from "./file-watch.ts";
import type { createLogBinding, RunInTransaction } from "./opening.ts";
import { causeOfError, isSqliteError, storageFailure, StorageUnavailable } from "./storage-failure.ts";

export type Scheduler = {
  readonly soon: (run: () => void) => void;
  readonly after: (milliseconds: number, run: () => void) => void;
};

export type FileGuards = { readonly binding: ReturnType<typeof createLogBinding>; readonly watch: FileWatch };
export const NO_FILE_GUARDS: FileGuards = {
  binding: { canWait: () => false, bind: () => true, seal: () => undefined },
  watch: { isIntact: () => true },
};

type CommitOptions = Partial<FileGuards> & {
  /** Called after each batch with its first storage failure, or undefined. */
  readonly onEnd?: (failure: StorageUnavailable | undefined) => void;
  /** Called after each rollback, so that caches drop the undone values. */
  readonly onUndone?: () => void;
};

/**
 * Resolves when the change is on disk. `work` may run more than once, so it must change only the database.
 * `isOftenIdle`: the work often changes nothing.
 */
type Write = <Value>(work: () => Value, options?: WriteOptions) => Promise<Value>;
type WriteOptions = { readonly isOftenIdle?: true };

const MAX_BATCH_JOBS = 256;
const MAX_QUEUED_JOBS = 10_000;
const LOCK_TIMEOUT_MS = 2000;
export const LOCK_RETRY_DELAY_MS = 5;

export function startLockTimeout({ after }: Pick<Scheduler, "after">): () => boolean {
  let isOver = false;
  after(LOCK_TIMEOUT_MS, () => {
    isOver = true;
  });
  return () => isOver;
}

type Job = WriteOptions & { readonly run: () => unknown; readonly settle: (result: Result) => void };
type Result =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: unknown };

/**
 * Writes of the same turns of the event loop share one commit, after which their promises settle (decision 55). If a
 * write throws, the batch runs again with a savepoint for each write.
 */
export function createGroupCommit(connection: FileConnection, scheduler: Scheduler & CommitOptions): Write {
  const { onEnd, onUndone, ...files } = scheduler;
  const statements = prepare(connection, onUndone);
  const commitWatched = createCommit(statements, connection, { ...NO_FILE_GUARDS, ...files });
  let queue: Job[] = [];
  let isScheduled = false;
  let isWaitOver: (() => boolean) | undefined;

  return <Value>(work: () => Value, options?: WriteOptions): Promise<Value> =>
    new Promise<Value>((resolve, reject) => {
      if (queue.length >= MAX_QUEUED_JOBS) {
        reject(lockError(`more than ${MAX_QUEUED_JOBS} writes are waiting`));
        return;
      }
      queue.push({
        ...options,
        run: work,
        settle: (result) => (result.ok ? resolve(result.value as Value) : reject(result.error)),
      });
      if (!isScheduled) {
        isScheduled = true;
        runWhenGathered(scheduler, { countWrites: () => queue.length, run: flush });
      }
    });

  function flush(): void {
    let batch = queue.slice(0, MAX_BATCH_JOBS);
    const results = commit(batch);
    if (results === undefined) {
      isWaitOver ??= startLockTimeout(scheduler);
      if (!isWaitOver()) {
        scheduler.after(LOCK_RETRY_DELAY_MS, flush);
        return;
      }
      // All queued writes fail, because the writes after this batch would otherwise wait as long again.
      batch = queue;
    }
    isWaitOver = undefined;
    queue = queue.slice(batch.length);
    isScheduled = queue.length > 0;
    if (isScheduled) scheduler.soon(flush);
    let failure: StorageUnavailable | undefined;
    for (const [index, job] of batch.entries()) {
      const outcome: Result = results?.[index] ?? { ok: false, error: lockError() };
      if (!outcome.ok && outcome.error instanceof StorageUnavailable) failure ??= outcome.error;
      job.settle(outcome);
    }
    onEnd?.(failure);
  }

  function commit(batch: readonly Job[]): Result[] | undefined {
    const isOftenIdle = batch.every((job) => job.isOftenIdle === true);
    try {
      return commitWatched(() => batch.map(runWithoutSavepoint), isOftenIdle);
    } catch (error) {
      if (!(error instanceof JobFailure)) return failJobs(batch, error);
    }
    try {
      return commitWatched(() => batch.map((job) => runInSavepoint(statements, connection, job)));
    } catch (error) {
      return failJobs(batch, error);
    }
  }
}

/**
 * Waits until a turn of the event loop brings no more writes, because one commit for all writes is faster than several.
 */
function runWhenGathered(
  { soon }: Pick<Scheduler, "soon">,
  { countWrites, run }: { readonly countWrites: () => number; readonly run: () => void },
): void {
  let knownCount = 0;
  const look = (): void => {
    const count = countWrites();
    if (count === knownCount || count >= MAX_BATCH_JOBS) return run();
    knownCount = count;
    soon(look);
  };
  soon(look);
}

export function createTransactionRunner({
  connection,
  ...files
}: FileGuards & { readonly connection: FileConnection }): <Value>(work: () => Value) => Value {
  const commit = createCommit(prepare(connection), connection, files);
  return (work) => {
    const results = commit(() => [work()] as const);
    if (results === undefined) throw lockError();
    return results[0];
  };
}

/**
 * Returns undefined if another process holds the lock. Checks before and after the commit that no file was replaced, so
 * that no write to a deleted file is acknowledged.
 */
function createCommit(statements: Statements, connection: FileConnection, { watch, binding }: FileGuards) {
  const transact: RunInTransaction = (work) =>
    inTransaction(statements, connection, () => [work()]) !== undefined;
  const checkFiles = (): void => {
    if (!watch.isIntact()) throw filesLostError();
  };
  const run = <Value>(work: () => Value): Value | undefined =>
    binding.bind(transact) ? inTransaction(statements, connection, work) : undefined;
  return <Value>(work: () => Value, isOftenIdle = false): Value | undefined => {
    checkFiles();
    const value =
      isOftenIdle && binding.canWait() ? runUnbound(statements, connection, { work, run }) : run(work);
    checkFiles();
    return value;
  };
}

/**
 * Runs the work before the log is bound, so that work without changes writes nothing; other work is rolled back and
 * repeated after binding.
 */
function runUnbound<Value>(
  statements: Statements,
  connection: FileConnection,
  { work, run }: { readonly work: () => Value; readonly run: (work: () => Value) => Value | undefined },
): Value | undefined {
  try {
    // With cache spilling, SQLite would write a large change to the log before the log is bound.
    connection.pragma("cache_spill = OFF");
    return inTransaction(statements, connection, () => {
      const changeCount = statements.countChanges.get();
      const value = work();
      if (statements.countChanges.get() !== changeCount) throw new UnboundChange();
      return value;
    });
  } catch (error) {
    if (!(error instanceof UnboundChange)) throw error;
  } finally {
    connection.pragma("cache_spill = ON");
  }
  return run(work);
}

class UnboundChange extends Error {
  override readonly name = "UnboundChange";
}

export function filesLostError(): StorageUnavailable {
  return new StorageUnavailable(storageFailure("database_changed"));
}

export function lockError(detail?: string): StorageUnavailable {
  return new StorageUnavailable(storageFailure("file_locked"), { detail });
}

type Statements = ReturnType<typeof prepare>;

function prepare(connection: FileConnection, onUndone = (): void => undefined) {
  return {
    onUndone,
    begin: connection.prepare("BEGIN IMMEDIATE"),
    commit: connection.prepare("COMMIT"),
    rollback: connection.prepare("ROLLBACK"),
    savepoint: connection.prepare("SAVEPOINT job"),
    release: connection.prepare("RELEASE job"),
    undo: connection.prepare("ROLLBACK TO job"),
    countChanges: connection.prepare<[], number>("SELECT total_changes()").pluck(),
  };
}

function failJobs(batch: readonly Job[], error: unknown): Result[] {
  return batch.map(() => ({ ok: false, error: toStorageError(error) }));
}

/** Returns undefined if another process holds the lock; rolls back and rethrows other errors. */
function inTransaction<Value>(
  statements: Statements,
  connection: FileConnection,
  run: () => Value,
): Value | undefined {
  try {
    statements.begin.run();
    const value = run();
    statements.commit.run();
    return value;
  } catch (error) {
    const isLockHeld = !connection.inTransaction && isLocked(error);
    if (connection.inTransaction) statements.rollback.run();
    statements.onUndone();
    if (isLockHeld) return undefined;
    throw error;
  }
}

class JobFailure extends Error {
  override readonly name = "JobFailure";
}

function runWithoutSavepoint(job: Job): Result {
  try {
    return { ok: true, value: job.run() };
  } catch (error) {
    throw new JobFailure("a job of the batch failed", { cause: error });
  }
}

function runInSavepoint(statements: Statements, connection: FileConnection, job: Job): Result {
  statements.savepoint.run();
  try {
    const value = job.run();
    statements.release.run();
    return { ok: true, value };
  } catch (error) {
    // A full disk ends the whole transaction: no savepoint is left, so all writes of the batch fail.
    if (!connection.inTransaction) throw error;
    statements.undo.run();
    statements.release.run();
    statements.onUndone();
    return { ok: false, error: toStorageError(error) };
  }
}

function isLocked(error: unknown): boolean {
  return isSqliteError(error) && error.code.startsWith("SQLITE_BUSY");
}

/** Returns errors that are not about storage (a constraint, a bug) unchanged. */
export function toStorageError(error: unknown): unknown {
  const cause = causeOfError(error);
  if (cause === undefined || error instanceof StorageUnavailable) return error;
  return new StorageUnavailable(cause.failure, { cause: error, detail: cause.detail });
}
