import { deriveIdempotencyKey, IDEMPOTENCY_RETENTION_MS, type LogicalCreate } from "./idempotency-key.ts";
import type { Outcome } from "../outcome.ts";

/** What the client knows of one create, written before its first byte is sent (decision 56). */
export type JournalEntry = Omit<LogicalCreate, "attempt"> & {
  readonly key: string;
  /** The instance of the sandbox that it was sent to (decision 96); null for another service, and where it is unknown. */
  readonly instance: string | null;
  /** Null where the user gave the key. */
  readonly attempt: number | null;
  /** The body as it was last sent. */
  readonly body: string;
  /** `pending`: no final answer came yet, so the service may or may not have made the checkout. */
  readonly state: "pending" | "created" | "refused";
  /** Whether an earlier run ended without a final answer: then a later refusal does not prove that nothing was made. */
  readonly inDoubt: boolean;
  readonly checkoutId: string | null;
  /** Why nothing was made: the error code of a refusal, or `unreachable`. */
  readonly code: string | null;
  readonly firstSentAt: number;
  readonly updatedAt: number;
};

/** A logical create, whatever its attempt, at the instance that the service is now; null where that is unknown. */
type MeantCreate = Omit<LogicalCreate, "attempt"> & Pick<JournalEntry, "instance">;

/** Which create the user means. */
export type Intent = MeantCreate & {
  readonly newAttempt: boolean;
  /** A key of the user's own, in place of a derived one. */
  readonly idempotencyKey: string | null;
};

/**
 * A final answer, as the journal stores it. `proof`: it proves that nothing was created with this key, also by earlier
 * tries.
 */
export type Settlement = Pick<JournalEntry, "state" | "checkoutId" | "code"> & { readonly proof: boolean };

/** The latest attempt of a logical create that was not refused. */
export type LatestAttempt = { readonly attempt: number; readonly state: "pending" | "created" };

/** Why a key cannot be sent: it belongs to another create, or it is so old that the service may have forgotten it. */
export type KeyRefusal = { readonly reason: "other_create" | "too_old"; readonly entry: JournalEntry };

/** The client's memory of its creates. Every call is on disk when it returns. */
export type Journal = {
  readonly latestAttempt: (create: MeantCreate) => LatestAttempt | undefined;
  /** Notes that a create is about to be sent; returns the entry as it now stands. */
  readonly begin: (intent: Intent, body: string, now: number) => Outcome<JournalEntry, KeyRefusal>;
  readonly settle: (key: string, settlement: Settlement, now: number) => void;
  readonly list: () => JournalEntry[];
  readonly find: (key: string) => JournalEntry | undefined;
  /** Removes an entry; false if there is none. */
  readonly forget: (key: string) => boolean;
  readonly close: () => void;
};

/** A day less than the service remembers a key (decision 5). */
const MAX_KEY_AGE_MS = IDEMPOTENCY_RETENTION_MS - 24 * 3_600_000;

/**
 * Which key a create carries: the user's own, or the one derived from the create and its attempt. The attempt is the
 * latest known one, so that a repeated command repeats its request. `newAttempt` takes the next number, unless the
 * latest attempt has no final answer yet: then that attempt is repeated. If no attempt is known, the first may have
 * been sent from another machine, so a new one is number 2.
 */
export function chooseKey(
  intent: Intent,
  latest: LatestAttempt | undefined,
): { readonly key: string; readonly attempt: number | null } {
  if (intent.idempotencyKey !== null) return { key: intent.idempotencyKey, attempt: null };
  const further = intent.newAttempt && latest?.state !== "pending" ? 1 : 0;
  const attempt = (latest?.attempt ?? 1) + further;
  return { key: deriveIdempotencyKey({ ...intent, attempt }), attempt };
}

/**
 * Whether an entry says something of the service as it is now. What was sent to an instance that is gone says nothing; as
 * long as either is unknown it counts, so that no second order is made.
 */
export function isOfInstance(entry: JournalEntry, { instance }: Pick<Intent, "instance">): boolean {
  return entry.instance === null || instance === null || entry.instance === instance;
}

/** Why a key that is in the journal cannot carry this create; undefined where it can. */
export function keyRefusal(entry: JournalEntry, intent: Intent, now: number): KeyRefusal | undefined {
  const same =
    entry.service === intent.service &&
    entry.storeId === intent.storeId &&
    entry.endpoint === intent.endpoint &&
    entry.orderId === intent.orderId;
  if (!same) return { reason: "other_create", entry };
  // A refused create made nothing, so the service may have forgotten its key.
  const old = entry.state !== "refused" && now - entry.firstSentAt > MAX_KEY_AGE_MS;
  return old ? { reason: "too_old", entry } : undefined;
}
