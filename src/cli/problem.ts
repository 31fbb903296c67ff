import { accept, FileRefused, type Outcome } from "../core/outcome.ts";
import { causeOfError, StorageUnavailable } from "../store/connection/storage-failure.ts";
import type { HostFailure } from "../host/failure.ts";

/** The exit codes of all commands (decision 57). `exec` also returns the exit code of its command. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  notReady: 3,
  credential: 4,
  conflict: 5,
  rateLimited: 6,
  unreachable: 7,
  notExecutable: 126,
  notFound: 127,
  interrupted: 130,
} as const;
export const EXIT_MEANINGS = {
  [EXIT.done]: "done",
  [EXIT.failed]: "failed",
  [EXIT.usage]: "usage",
  [EXIT.notReady]: "not ready, different, or unknown",
  [EXIT.credential]: "credential or permission",
  [EXIT.conflict]: "conflict",
  [EXIT.rateLimited]: "rate limited",
  [EXIT.unreachable]: "unreachable, timeout, 5xx",
  [EXIT.interrupted]: "interrupted",
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export type Problem = {
  readonly exitCode: ExitCode;
  readonly code: string;
  readonly message: string;
  readonly next: string;
  readonly details?: Readonly<Record<string, string | number>>;
  readonly differences?: readonly Difference[];
  readonly candidates?: readonly Candidate[];
};

export type Candidate = { readonly id: string; readonly about: string };

export type Difference = { readonly field: string; readonly expected: string; readonly live: string };

export class Refused extends Error {
  override readonly name = "Refused";
  readonly problem: Problem;

  constructor(problem: Omit<Problem, "exitCode"> & Partial<Problem>) {
    super(problem.message);
    this.problem = { exitCode: EXIT.failed, ...problem };
  }
}

/** For a command that cannot run as typed; exit code 2. */
export function refuseUsage(message: string, next: string): Refused {
  return new Refused(usageProblem(message, next));
}

/** `value` and `refusal` can be read without checking `ok`, because the inapplicable one is undefined. */
type CaughtOutcome<Value> =
  | { readonly ok: true; readonly value: Value; readonly refusal?: undefined }
  | { readonly ok: false; readonly refusal: Problem; readonly value?: undefined };

export function catchRefusal<Value>(work: () => Value): CaughtOutcome<Value>;
export function catchRefusal<Value>(work: Promise<Value>): Promise<CaughtOutcome<Value>>;
export function catchRefusal<Value>(
  work: (() => Value) | Promise<Value>,
): CaughtOutcome<Value> | Promise<CaughtOutcome<Value>> {
  if (typeof work !== "function") return work.then(accept, catchError);
  try {
    return accept(work());
  } catch (error) {
    return catchError(error);
  }
}

function catchError(error: unknown): CaughtOutcome<never> {
  if (error instanceof Refused) return { ok: false, refusal: error.problem };
  throw error;
}

export function unwrap<Value>(
  outcome: Outcome<Value, Problem | HostFailure>,
  change: (problem: Problem) => Problem = (problem) => problem,
): Value {
  if (outcome.ok) return outcome.value;
  const { refusal } = outcome;
  throw new Refused(change("kind" in refusal ? problemOf(refusal) : refusal));
}

export function usageProblem(message: string, next: string): Problem {
  return { exitCode: EXIT.usage, code: "usage", message, next };
}

export function missingCredential(message: string, next: string): Problem {
  return { exitCode: EXIT.credential, code: "credential_missing", message, next };
}

export const START_SANDBOX = "checkout sandbox start";

export const NO_SANDBOX = "no sandbox is running here";

/** `reason`: why no other sandbox is used; undefined for a command about the folder's sandbox. */
export function noSandboxProblem(folder: string, reason?: string): Problem {
  const message = `${NO_SANDBOX} (${folder})${reason === undefined ? "" : `, and ${reason}`}`;
  return { exitCode: EXIT.unreachable, code: "no_sandbox", message, next: START_SANDBOX };
}

export const RUN_THERE_HINT = "run the command there";

export function problemOf({ kind, ...failure }: HostFailure): Problem {
  return { exitCode: kind === "usage" ? EXIT.usage : EXIT.failed, ...failure };
}

export function storageProblem(error: unknown): Problem | undefined {
  if (error instanceof FileRefused) {
    const next = "replace it with a regular file, or move it away";
    return { exitCode: EXIT.failed, code: "file_refused", message: error.message, next };
  }
  const cause = causeOfError(error);
  if (cause === undefined) return undefined;
  const { failure, detail } = cause;
  // The detail of StorageUnavailable already begins with the failure's sentence.
  const message = error instanceof StorageUnavailable ? detail : `${failure.sentence} (${detail})`;
  return { exitCode: EXIT.failed, code: failure.code, message, next: failure.next };
}

export function interruptedProblem(messageEnd = ""): Problem {
  const message = `interrupted${messageEnd}`;
  return { exitCode: EXIT.interrupted, code: "interrupted", message, next: "run the command again" };
}

export function exitCodeOfStatus(status: number | undefined): ExitCode {
  if (status === 401 || status === 403) return EXIT.credential;
  if (status === 409) return EXIT.conflict;
  if (status === 429) return EXIT.rateLimited;
  if (status === undefined || status >= 500 || status < 400) return EXIT.unreachable;
  return EXIT.failed;
}
