import type { StoreClock } from "../core/clock.ts";
import type { Dialect } from "../core/shape/dialect.ts";
import type { AppliedFault } from "../core/fault/shapes.ts";
import type { Refusal } from "../core/outcome.ts";
import type { StorageUnavailable } from "../store/connection/storage-failure.ts";
import { decisionsOfRefusal, type DecisionNumbers } from "../core/readiness/relied.ts";
import { refusalResponse } from "../web/answer.ts";
import type { HttpResponse } from "../world.ts";

/** `isUnlogged`: the access log omits the answer, as for portal pages and polls. */
export type Answer = HttpResponse & {
  readonly note?: string;
  readonly isUnlogged?: true;
  readonly logFields?: LogFields;
  /** Delay before the answer is sent, in milliseconds (decision 94). */
  readonly delayMs?: number;
};

export type LogFields = {
  /** The store of the caller's key; undefined without a valid key. */
  readonly storeId: string | undefined;
  readonly clock?: StoreClock;
  readonly orderId: string | null;
  readonly decisions: DecisionNumbers;
  readonly refusal?: Refusal | undefined;
  readonly byDrill?: true | undefined;
  readonly fault?: AppliedFault;
};

/** The response uses the dialect's code and status; the log gets the sandbox's own code. */
export function answerRefusal(
  requestId: string,
  refusal: Refusal,
  dialect?: Dialect,
): Answer & { readonly logFields: LogFields } {
  const decisions = decisionsOfRefusal(refusal.code);
  const logFields = { storeId: undefined, orderId: null, decisions, refusal };
  return { ...refusalResponse(requestId, refusal, dialect), note: refusal.code, logFields };
}

/** The message names no path. `Retry-After` is set only if another process holds a lock. */
export function storageRefusal({ failure }: StorageUnavailable): Refusal {
  const message = `the database cannot be used right now: ${failure.sentence}; try again with the same key`;
  const hint = failure.code === "file_locked" ? { retryAfterSeconds: 1 } : {};
  return { code: "storage_unavailable", message, ...hint };
}
