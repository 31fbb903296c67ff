import type { Outcome } from "../core/outcome.ts";
import type { FileRefusal } from "../store/connection/database.ts";
import { isStorageFailureCode } from "../store/connection/storage-failure.ts";

/** Commands turn a failure into an exit code, and the test kit throws an error; both show `message`. */
export type HostFailure = {
  /** `usage`: the user's input is invalid. `failed`: the state or the machine is at fault. */
  readonly kind: "usage" | "failed";
  readonly code: string;
  readonly message: string;
  readonly next: string;
  readonly details?: Readonly<Record<string, string | number>>;
};

type FailedOutcome = Extract<Outcome<never, HostFailure>, { ok: false }>;

export function stateFailure(failure: Omit<HostFailure, "kind">): FailedOutcome {
  return { ok: false, refusal: { kind: "failed", ...failure } };
}

export function usageFailure(message: string, next: string): FailedOutcome {
  return { ok: false, refusal: { kind: "usage", code: "usage", message, next } };
}

export function fileFailure(
  fileKind: "database" | "journal",
  { reason, message, remedy }: FileRefusal,
): HostFailure {
  const code = isStorageFailureCode(reason) ? reason : `${fileKind}_${reason}`;
  return { kind: "failed", code, message, next: remedy };
}

export function movedLogWarning(database: string, log: string): string {
  return `warning: the log beside ${database} belongs to another database; it was moved to ${log}, and nothing of it was used`;
}
