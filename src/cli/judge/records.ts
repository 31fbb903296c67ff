import type { Bench } from "../../client/judge/bench.ts";
import { isLeftOut, type JudgedHistory } from "../../client/judge/played.ts";
import { endpointsOf } from "../../client/judge/tell.ts";
import { historyOf } from "../../core/judge/histories/histories.ts";
import { stepOf } from "../../core/judge/judge.ts";
import type { History } from "../../core/judge/step.ts";
import type { DrillStep } from "../../core/readiness/drill-shapes.ts";
import { duplicatesSubject } from "../../core/readiness/drills/drill.ts";
import { missingStepName, type MissingField } from "../../core/readiness/drills/judge-sentences.ts";
import type { JudgedInvariant } from "../../core/readiness/drills/judged-invariants.ts";
import { factOf } from "../../core/readiness/drills/said.ts";
import type { DrillKind } from "../../core/readiness/names.ts";
import { verdictOf, worstVerdict, type PartRecord } from "./report.ts";

type RecordInput = {
  readonly bench: Bench;
  readonly parts: ReadonlySet<DrillKind>;
  readonly missingFields: readonly MissingField[];
};

/** Records a plain purchase that broke a rule, so that an earlier passed record does not stay valid. */
export async function recordPlainPurchase(
  { bench, parts, missingFields }: RecordInput,
  history: JudgedHistory,
): Promise<readonly PartRecord[]> {
  const { name, verdict, reference } = history;
  if (verdict.state !== "broken") return [];
  if (CREATE_RULES.has(verdict.invariant) && parts.has("idempotency")) {
    const steps = [stepOf(name, verdict, reference)];
    return [await record(bench, "", { part: "idempotency", verdict: "failed", steps })];
  }
  if (!parts.has("duplicates")) return [];
  const subject = duplicatesSubject(await endpointsOf(bench));
  if (subject === "") return [];
  const steps = stepsOf([history], "duplicates", missingFields);
  return [await record(bench, subject, { part: "duplicates", verdict: "failed", steps })];
}

async function record(
  { call }: Bench,
  subject: string,
  result: Omit<PartRecord, "drillId" | "steps"> & { readonly steps: DrillStep[] },
): Promise<PartRecord> {
  const body = { kind: result.part, subject, steps: result.steps };
  const { id } = await call({ name: "recordDrill", body });
  return { ...result, drillId: id };
}

const CREATE_RULES: ReadonlySet<JudgedInvariant> = new Set(["one_key", "one_order", "client_ends"]);

function stepsOf(
  histories: readonly JudgedHistory[],
  part: History["part"],
  missingFields: readonly MissingField[],
): DrillStep[] {
  const partHistories = histories.filter(
    (history) => historyOf(history.name).part === part && !isLeftOut(history),
  );
  const steps = partHistories.map(({ name, verdict, reference }) => stepOf(name, verdict, reference));
  if (part !== "duplicates") return steps;
  const missingSteps = missingFields.map((field): DrillStep => {
    const name = missingStepName(field);
    return { name, passed: true, expected: "", got: field, cause: factOf(name), reference: null };
  });
  return [...steps, ...missingSteps];
}

/**
 * Records each part that failed, and, if the run was complete (`isDone`), each part whose histories all passed.
 * Every other part keeps its last record.
 */
export async function recordParts(
  { bench, parts, missingFields, isDone }: RecordInput & { readonly isDone: boolean },
  histories: readonly JudgedHistory[],
): Promise<readonly PartRecord[]> {
  const records: PartRecord[] = [];
  for (const part of ["duplicates", "browser_return", "idempotency"] as const) {
    if (!parts.has(part)) continue;
    const steps = stepsOf(histories, part, missingFields);
    const partHistories = histories.filter(({ name }) => historyOf(name).part === part);
    const verdict = partHistories.length === 0 ? "unknown" : worstVerdict(partHistories.map(verdictOf));
    const isRecordable = steps.length > 0 && (verdict === "failed" || (isDone && verdict === "passed"));
    if (!isRecordable) {
      records.push({ part, verdict: "unknown", drillId: null, steps });
      continue;
    }
    const subjects = {
      duplicates: duplicatesSubject(await endpointsOf(bench)),
      browser_return: bench.shop.returnUrl ?? "",
      idempotency: "",
    };
    records.push(await record(bench, subjects[part], { part, verdict, steps }));
  }
  return records;
}
