// The histories that a run plays, and their verdicts.
import type { CheckoutObject } from "../../core/checkout/checkout.ts";
import { noVerdict, type HistoryVerdict } from "../../core/judge/judge.ts";
import type { Observation } from "../../core/judge/observation.ts";
import type { History } from "../../core/judge/step.ts";
import type { StepText } from "../../core/readiness/drill-shapes.ts";
import type { Purchase } from "./bench.ts";

/** A history to play, and the kind of its checkouts. */
export type Turn = { readonly name: string; readonly kind: CheckoutObject };

export type JudgedHistory = {
  readonly name: string;
  readonly verdict: HistoryVerdict;
  /** The id of the checkout that the verdict is about; null if there is none. */
  readonly reference: string | null;
  /** The timeline of that checkout's order, for a broken history. */
  readonly story: readonly string[];
  /** The facts and orders of the played history, and its time by the monotonic clock, for a later reading. */
  readonly evidence?: {
    readonly facts: readonly Observation[];
    readonly orders: readonly Purchase[];
    readonly at: number;
  };
};

export type RunPlan = {
  readonly parts: ReadonlySet<History["part"]>;
  readonly names: ReadonlySet<string> | undefined;
  /** Whether long histories are skipped. */
  readonly isQuick: boolean;
  /** The time after which no new history starts, by the monotonic clock. */
  readonly deadline: number;
  /** Maximum number of parallel histories. Default: 10. */
  readonly maxHistories?: number;
  readonly onJudged: (history: JudgedHistory) => void;
};

export type PlayResult = NonNullable<JudgedHistory["evidence"]> & { readonly verdict: HistoryVerdict };

export type SkipReason = "budget" | "stuck" | "interrupted";

/** Whether a history was skipped because the budget was spent, the run was interrupted, or the shop was stuck. */
export function isLeftOut({ verdict }: Pick<JudgedHistory, "verdict">): boolean {
  return (
    verdict.state === "not_judged" &&
    typeof verdict.reason !== "string" &&
    SKIP_REASONS.has(verdict.reason.fact)
  );
}

const SKIP_REASONS: ReadonlySet<string> = new Set<SkipReason>(["budget", "stuck", "interrupted"]);

/** Whether the shop accepts no more events, so that no other history can show anything. */
export function leftShopStuck({ verdict }: Pick<JudgedHistory, "verdict">): boolean {
  return verdict.state === "broken" && verdict.cause === "refuses_since_restart";
}

export function unplayedHistory(name: string, reason: StepText, got: StepText = ""): JudgedHistory {
  return { name, verdict: noVerdict(reason, null, got), reference: null, story: [] };
}
