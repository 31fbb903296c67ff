// This file names a cause only if an answer in the request log shows it.
import type { ErrorCode } from "../errors.ts";
import type { StepText, StepValue } from "../readiness/drill-shapes.ts";
import type { Cause } from "../readiness/drills/judge-causes.ts";
import type { JudgedInvariant } from "../readiness/drills/judged-invariants.ts";
import { factOf } from "../readiness/drills/said.ts";

export type LoggedCreate = {
  readonly status: number;
  readonly code: ErrorCode | null;
  /** `cut`: a fault cut the answer's body or, in a search, delayed the answer. `hidden`: any other fault applied. */
  readonly arrival: "whole" | "cut" | "hidden";
  readonly isEarly: boolean;
};

export type WatchedRun = {
  readonly hasEnded: boolean;
  readonly isDone: boolean;
  readonly got: StepValue;
  readonly isWrong?: boolean;
  /** Whether faults hit other requests too: the run may then report a failure although its order has arrived. */
  readonly mayFail?: boolean;
  /** Whether the command was killed; null for a page, whose status says nothing about the purchase. */
  readonly isKilled: boolean | null;
  readonly log: readonly LoggedCreate[];
};

/** `liveCount`: the number of the purchase's checkouts that are open or paid. */
export type WatchedPurchase = {
  readonly runs: readonly WatchedRun[];
  readonly liveCount: number;
  readonly hasNewOrderId: boolean;
};

export type BrokenFinding = {
  readonly invariant: JudgedInvariant;
  readonly expected: StepText;
  readonly got: StepText;
  readonly cause?: Cause | undefined;
};

export function hasAnswerArrived(log: readonly LoggedCreate[]): boolean {
  return log.some((request) => isAccepted(request) && request.arrival === "whole");
}

/**
 * Returns true if the run reports success and a successful answer, or at least its status, arrived: some clients read
 * only the status.
 */
export function isRightlyDone({ isDone, log }: Pick<WatchedRun, "isDone" | "log">): boolean {
  return isDone && log.some((request) => isAccepted(request) && request.arrival !== "hidden");
}

function isAccepted({ status }: Pick<LoggedCreate, "status">): boolean {
  return status === 201 || status === 200;
}

export function rulesOfClient({ runs, liveCount }: WatchedPurchase): readonly JudgedInvariant[] {
  return [
    ...(runs.length > 0 ? (["client_ends"] as const) : []),
    ...(runs.some(({ log }) => log.length > 0) ? (["one_key"] as const) : []),
    ...(liveCount > 0 ? (["one_order"] as const) : []),
    ...(runs.length > 1 ? (["recovery"] as const) : []),
  ];
}

export function brokenRuleOf({ runs, liveCount, hasNewOrderId }: WatchedPurchase): BrokenFinding | undefined {
  const lastRun = runs.at(-1);
  const log = lastRun?.log ?? [];
  const keyVerdict = findBrokenKey(log, runs);
  if (keyVerdict !== undefined) return keyVerdict;
  if (liveCount > 1 || hasNewOrderId)
    return {
      invariant: "one_order",
      expected: "1",
      got: hasNewOrderId ? factOf("other_id") : `${liveCount}`,
      cause: hasNewOrderId ? "new_order_id" : "order_again",
    };
  const bodyVerdict = findChangedBody(log);
  if (bodyVerdict !== undefined) return bodyVerdict;
  const endVerdict = runs.flatMap((run) => findBrokenEnd(run) ?? [])[0];
  if (endVerdict !== undefined) return endVerdict;
  if (lastRun === undefined || isRightlyDone(lastRun)) return undefined;
  const hasFailedAgain = lastRun.mayFail === true && !lastRun.isDone && runs.length > 1;
  if (hasAnswerArrived(log) && !hasFailedAgain) return undefined;
  const earlierLog = runs.at(-2)?.log ?? [];
  return {
    invariant: "recovery",
    expected: factOf("another"),
    got: log.length === earlierLog.length ? factOf("none_sent") : (log.at(-1)?.code ?? lastRun.got),
    cause: log.length === earlierLog.length && !hasAnswerArrived(log) ? "forgotten" : "no_recovery",
  };
}

/** Finds a create that was refused because of its key. Later runs cannot change the finding. */
export function findBrokenKey(
  log: readonly LoggedCreate[],
  runs: readonly WatchedRun[],
): BrokenFinding | undefined {
  const index = log.findIndex(({ code, arrival }) => arrival === "whole" && KEY_CAUSES.has(code));
  const code = log[index]?.code ?? null;
  const cause = KEY_CAUSES.get(code)?.(log.slice(0, index), runs);
  return code === null ? undefined : { invariant: "one_key", expected: factOf("same_key"), got: code, cause };
}

const KEY_CAUSES = new Map<
  ErrorCode | null,
  (earlierCreates: readonly LoggedCreate[], runs: readonly WatchedRun[]) => Cause
>([
  ["idempotency_key_missing", () => "no_key"],
  ["idempotency_key_invalid", () => "invalid_key"],
  [
    "idempotency_key_reused",
    // A create of a killed command may have been accepted and not logged yet.
    (earlierCreates, runs) =>
      earlierCreates.some(isAccepted) || runs.some(({ isKilled }) => isKilled === true)
        ? "other_body"
        : "alike",
  ],
  ["order_conflict", (earlierCreates) => (hasAnswerArrived(earlierCreates) ? "second_create" : "new_key")],
]);

/** If the service accepted the create before, a retry that it refuses as invalid has another body. */
function findChangedBody(log: readonly LoggedCreate[]): BrokenFinding | undefined {
  const index = log.findIndex(isAccepted);
  const failure = log.slice(index + 1).find(({ status, arrival }) => arrival === "whole" && status === 400);
  if (index < 0 || failure === undefined) return undefined;
  return {
    invariant: "recovery",
    expected: factOf("same_key"),
    got: failure.code ?? String(failure.status),
    cause: "changed_body",
  };
}

function findBrokenEnd(run: WatchedRun): BrokenFinding | undefined {
  const { hasEnded, isDone, got, isKilled, isWrong, mayFail, log } = run;
  const endRule = { invariant: "client_ends", expected: factOf("ends_well") } as const;
  if (!hasEnded) return { ...endRule, got: factOf("time_up"), cause: "never_ends" };
  if (isKilled !== false) return undefined;
  if (isDone && (!isRightlyDone(run) || isWrong === true))
    return { ...endRule, got: factOf("blind"), cause: "claims_success" };
  return !isDone && mayFail !== true && hasAnswerArrived(log)
    ? { ...endRule, got, cause: "reports_failure" }
    : undefined;
}

/** An early retry is only a note, because it creates no second order. */
export function retriesEarly({ runs }: WatchedPurchase): boolean {
  return runs.at(-1)?.log.some(({ isEarly }) => isEarly) === true;
}
