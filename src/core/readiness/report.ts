import { verdictsOf, type Calibration } from "../calibration/calibration.ts";
import { toIso } from "../clock.ts";
import { spanText } from "../explain/span.ts";
import { english } from "../language.ts";
import { assumptionTitle } from "../calibration/assumptions.ts";
import { CHECKLIST_ITEMS, ITEM_TITLES } from "./names.ts";
import { READINESS_SENTENCES } from "./sentences.ts";
import { countNotJudged, type Checklist, type Evidence, type JudgedChecklist } from "./shapes.ts";

export type ChecklistReport = Checklist & {
  readonly source: "sandbox" | "service";
  readonly service: string;
  /** Null for a service, which does not reveal its store. */
  readonly storeId: string | null;
  /** In milliseconds: by the store's clock for a sandbox, by this machine's clock for a service. */
  readonly judgedAt: number;
  readonly exploration?: JudgedChecklist["exploration"];
  readonly calibration: { readonly record: Calibration; readonly ageMs: number } | null;
};

export function reportJson({ calibration, exploration = null, ...report }: ChecklistReport) {
  const record = calibration?.record;
  return {
    verdict: report.verdict,
    source: report.source,
    service: report.service,
    store_id: report.storeId,
    judged_at: toIso(report.judgedAt),
    livemode: false as const,
    calibration:
      record === undefined ? null : { service: record.service, at: record.at, ...verdictsOf(record) },
    exploration:
      exploration === null
        ? null
        : {
            schedules: exploration.schedules,
            broken: exploration.broken,
            not_judged: countNotJudged(exploration.places),
            at: toIso(exploration.at),
          },
    items: report.items.map(({ name, status, reason, evidence, assumptions, next }) => ({
      name,
      title: english(ITEM_TITLES[name]),
      status,
      reason,
      evidence: evidence.map(evidenceJson),
      assumptions,
      next,
    })),
  };
}

export function calibrationLine({ calibration }: ChecklistReport): string | undefined {
  if (calibration === null) return undefined;
  const { record, ageMs } = calibration;
  const { confirmed, contradicted, not_observed: unobservedDecisions } = verdictsOf(record);
  const contradictedText =
    contradicted.length === 0
      ? ""
      : ` (${contradicted.map((decision) => `${decision} ${english(assumptionTitle(decision))}`).join(", ")})`;
  return `Calibrated with ${record.service}, ${spanText(ageMs, english)} ago: ${confirmed.length} confirmed, ${contradicted.length} contradicted${contradictedText}, ${unobservedDecisions.length} not observed`;
}

export function explorationLine({ exploration = null, judgedAt }: ChecklistReport): string | undefined {
  if (exploration === null) return undefined;
  const age = spanText(Math.max(0, judgedAt - exploration.at), english);
  const { schedules, broken, places } = exploration;
  return `${english(READINESS_SENTENCES.explored(schedules, broken, countNotJudged(places)))}, ${age} ago`;
}

function evidenceJson({ at, ...fields }: Evidence) {
  return { ...fields, at: at === null ? null : toIso(at) };
}

export function verdictLine({ verdict, items }: Checklist): string {
  const passedCount = items.filter(({ status }) => status === "pass").length;
  const riskCount = items.flatMap(({ assumptions }) => assumptions).length;
  const risksText = riskCount === 0 ? "" : `, with ${riskCount === 1 ? "a risk" : `${riskCount} risks`}`;
  const isComplete = items.length === CHECKLIST_ITEMS.length;
  const countText = isComplete
    ? `: ${passedCount} of ${items.length} items pass`
    : `; ${passedCount} of the ${items.length} shown here pass`;
  return `${english(READINESS_SENTENCES.verdict[verdict])}${countText}${risksText}`;
}

export function evidenceLine({ what, reference, at }: Evidence): string {
  const details = [reference, at === null ? null : toIso(at)].filter((detail) => detail !== null);
  return details.length === 0 ? what : `${what} (${details.join(", ")})`;
}

export type RiskTolerance = { readonly allowRisks: boolean };

export function isChecklistReady(
  { verdict }: Pick<Checklist, "verdict">,
  { allowRisks }: RiskTolerance,
): boolean {
  return verdict === "ready" || (allowRisks && verdict === "ready_with_risks");
}
