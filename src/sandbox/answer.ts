import type { StoreClock } from "../core/clock.ts";
import type { AppliedFault } from "../core/fault/operations.ts";
import type { Refusal } from "../core/outcome.ts";
import type { StorageUnavailable } from "../store/connection/storage-failure.ts";
import { reliedOnByRefusal, type DecisionNumbers } from "../core/readiness/relied.ts";
import { refusalResponse } from "../web/answer.ts";
import type { HttpResponse } from "../world.ts";

/** An answer, with its note for the log. `unlogged`: a page that polls every second. */
export type Answer = HttpResponse & {
  readonly note?: string;
  readonly unlogged?: true;
  readonly logged?: LogFields;
  /** How long it is held back before it is sent, in milliseconds (decision 94). */
  readonly delayMs?: number;
};

/** What the request log keeps of an answer, beside what everybody can see of it. */
export type LogFields = {
  /** The store of the caller's key; undefined where it has none. */
  readonly storeId: string | undefined;
  /** The clock of that store. */
  readonly clock?: StoreClock;
  readonly orderId: string | null;
  readonly decisions: DecisionNumbers;
  readonly refusal?: Refusal | undefined;
  /** Whether a drill made the request by itself. */
  readonly byDrill?: true | undefined;
  /** The fault that the request has met. */
  readonly fault?: AppliedFault;
};

/** A refusal as an answer, with its code in the log. */
export function answerRefusal(requestId: string, refusal: Refusal): Answer & { readonly logged: LogFields } {
  const decisions = reliedOnByRefusal(refusal.code);
  const logged = { storeId: undefined, orderId: null, decisions, refusal };
  return { ...refusalResponse(requestId, refusal), note: refusal.code, logged };
}

/** What a caller hears while nothing can be written: the cause, but no path of this machine; and when to try again, where a lock is all that it waits for. */
export function storageRefusal({ failure }: StorageUnavailable): Refusal {
  const message = `the database cannot be used right now: ${failure.sentence}; try again with the same key`;
  const hint = failure.code === "file_locked" ? { retryAfterSeconds: 1 } : {};
  return { code: "storage_unavailable", message, ...hint };
}
