import { toIso } from "../clock.ts";
import { stepTextWords } from "./drills/said.ts";
import type { Words } from "../language.ts";
import { DRILL_NAMES, type DrillKind } from "./names.ts";
import { READINESS_SENTENCES as TEXTS } from "./sentences.ts";
import type { DrillFact, DrillStep } from "./drill-shapes.ts";
import type { ReadinessFacts, BilingualEvidence, Waiver } from "./shapes.ts";

/** `unknown`: there is no valid evidence for a pass or a failure. */
export type Proof = {
  readonly status: "pass" | "fail" | "unknown";
  readonly reason: Words | undefined;
  readonly evidence: readonly BilingualEvidence[];
  readonly risks: readonly Words[];
};

type Claim = {
  readonly kind: DrillKind;
  readonly title: Words;
  /** The subject of the current configuration; null if every drill of the kind counts. */
  readonly subject: string | null;
  /** Why a drill with another subject no longer counts. */
  readonly change?: Words;
  readonly drill: DrillFact | null;
};

/** By the store's clock. Waivers are valid for the same time. */
export const EVIDENCE_VALIDITY_MS = 7 * 24 * 3_600_000;

/** A waiver counts as a risk, unless the last drill failed after the waiver. */
export function proofOf(claim: Claim, { waivers, now }: Pick<ReadinessFacts, "waivers" | "now">): Proof {
  const { kind, title, drill } = claim;
  const evidence = drill === null ? [] : drillEvidence(title, drill);
  const commonFields = { evidence, risks: [] };
  const reason = drill === null ? TEXTS.notRun : invalidReason(claim, drill, now);
  if (drill?.passed === true && reason === undefined)
    return { ...commonFields, status: "pass", reason: undefined };
  const waiver = waivers.find((entry) => entry.drill === kind && staleReason(entry, now) === undefined);
  if (waiver !== undefined && (drill === null || drill.passed || waiver.at >= drill.at))
    return { ...commonFields, status: "pass", reason: TEXTS.waived(title), risks: [riskOf(waiver)] };
  if (reason !== undefined)
    return { ...commonFields, status: "unknown", reason: TEXTS.invalid(title, reason) };
  return { ...commonFields, status: "fail", reason: TEXTS.failed(title, failureOf(drill)) };
}

/** Returns undefined if the drill counts. A failure still counts after the clock was set back. */
function invalidReason({ subject, change }: Claim, drill: DrillFact, now: number): Words | undefined {
  if (subject !== null && drill.subject !== subject) return change;
  return !drill.passed && drill.at > now ? undefined : staleReason(drill, now);
}

/** Evidence is in the future if the clock was set back. */
function staleReason({ at }: { readonly at: number }, now: number): Words | undefined {
  if (at > now) return TEXTS.inTheFuture;
  return now - at < EVIDENCE_VALIDITY_MS ? undefined : TEXTS.tooOld;
}

function riskOf({ drill, reason, at }: Waiver): Words {
  return TEXTS.waivedUntil(DRILL_NAMES[drill], toIso(at + EVIDENCE_VALIDITY_MS), reason);
}

const MAX_STEPS_SHOWN = 5;

export function createEvidence(
  title: Words,
  reference: string | null = null,
  at: number | null = null,
): BilingualEvidence {
  return { what: title, reference, at };
}

function drillEvidence(title: Words, { id, passed, steps, at }: DrillFact): BilingualEvidence[] {
  const failedSteps = steps.filter((step) => !step.passed);
  const hiddenCount = failedSteps.length - MAX_STEPS_SHOWN;
  return [
    createEvidence(TEXTS.ended(title, passed, steps.length - failedSteps.length, steps.length), id, at),
    ...failedSteps
      .slice(0, MAX_STEPS_SHOWN)
      .map((step) => createEvidence(stepWords(step), step.reference, at)),
    ...(hiddenCount > 0 ? [createEvidence(TEXTS.moreFailed(hiddenCount), id, at)] : []),
  ];
}

function failureOf(drill: DrillFact | null): Words {
  const failedStep = drill?.steps.find(({ passed }) => !passed);
  if (failedStep === undefined) return TEXTS.notFinished;
  const { name, cause } = failedStep;
  return cause === null ? stepWords(failedStep) : TEXTS.stepCause(name, stepTextWords(cause));
}

function stepWords({ name, expected, got }: DrillStep): Words {
  return TEXTS.step(name, stepTextWords(expected), stepTextWords(got));
}
