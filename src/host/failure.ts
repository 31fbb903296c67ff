import type { Outcome } from "../core/outcome.ts";
import type { FileRefusal } from "../store/connection/database.ts";
import { isStorageFailureCode } from "../store/connection/storage-failure.ts";

/**
 * Why a sandbox is not served on this machine, or its state not used. A command gives it an exit code, the test kit throws
 * it; both say the same words.
 */
export type HostFailure = {
  /** Whether what was asked for cannot be, or what was found. */
  readonly kind: "usage" | "failed";
  /** One of hosting's own codes, or of the store's. */
  readonly code: string;
  readonly message: string;
  /** What to do next. */
  readonly next: string;
  readonly details?: Readonly<Record<string, string | number>>;
};

type Failed = Extract<Outcome<never, HostFailure>, { ok: false }>;

/** The outcome where what was found cannot be used. */
export function failed(failure: Omit<HostFailure, "kind">): Failed {
  return { ok: false, refusal: { kind: "failed", ...failure } };
}

/** The outcome where what was asked for cannot be. */
export function misused(message: string, next: string): Failed {
  return { ok: false, refusal: { kind: "usage", code: "usage", message, next } };
}

/** A database file that cannot be used. */
export function fileFailure(
  what: "database" | "journal",
  { reason, message, remedy }: FileRefusal,
): HostFailure {
  const code = isStorageFailureCode(reason) ? reason : `${what}_${reason}`;
  return { kind: "failed", code, message, next: remedy };
}
