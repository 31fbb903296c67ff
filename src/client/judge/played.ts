import type { CheckoutObject } from "../../core/checkout/checkout.ts";
import { noVerdict, type HistoryVerdict } from "../../core/judge/judge.ts";
import type { Observation } from "../../core/judge/observation.ts";
import type { History } from "../../core/judge/step.ts";
import type { StepText } from "../../core/readiness/drill-shapes.ts";
import type { Purchase } from "./bench.ts";

export type Turn = { readonly name: string; readonly kind: CheckoutObject };

export type JudgedHistory = {
  readonly name: string;
  readonly verdict: HistoryVerdict;
  readonly reference: string | null;
  readonly story: readonly string[];
  readonly evidence?: {
    readonly facts: readonly Observation[];
    readonly orders: readonly Purchase[];
    readonly at: number;
  };
};

export type RunPlan = {
  readonly parts: ReadonlySet<History["part"]>;
  readonly names: ReadonlySet<string> | undefined;
  readonly isQuick: boolean;
  /** The time after which no new history starts, by the monotonic clock. */
  readonly deadline: number;
  readonly onJudged: (history: JudgedHistory) => void;
};

export type PlayResult = NonNullable<JudgedHistory["evidence"]> & { readonly verdict: HistoryVerdict };

export type SkipReason = "budget" | "stuck" | "interrupted";

export function isLeftOut({ verdict }: Pick<JudgedHistory, "verdict">): boolean {
  return (
    verdict.state === "not_judged" &&
    typeof verdict.reason !== "string" &&
    SKIP_REASONS.has(verdict.reason.fact)
  );
}

const SKIP_REASONS: ReadonlySet<string> = new Set<SkipReason>(["budget", "stuck", "interrupted"]);

/** Whether the shop has accepted no events since a restart, so that no other history can prove anything. */
export function leftShopStuck({ verdict }: Pick<JudgedHistory, "verdict">): boolean {
  return verdict.state === "broken" && verdict.cause === "refuses_since_restart";
}

export function unplayedHistory(name: string, reason: StepText, got: StepText = ""): JudgedHistory {
  return { name, verdict: noVerdict(reason, null, got), reference: null, story: [] };
}
