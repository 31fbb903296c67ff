import { english, type Words } from "../../language.ts";
import { EXPECTED_RESULTS, FAILURE_RESULTS, STEP_RESULTS, type DrillSentence } from "../drill-sentences.ts";
import type { DrillStep, StepText, StepValue, ShownStep } from "../drill-shapes.ts";
import { CAUSES } from "./judge-causes.ts";
import { MISSING_FIELDS, missingStepName, NO_VERDICT, NOTES, NOT_JUDGED_REASONS } from "./judge-sentences.ts";
import { JUDGED_INVARIANTS } from "./judged-invariants.ts";
import { CONNECTION_CAUSES, RECEIVER_CAUSES, DRILL_NOTES } from "./webhook-advice.ts";
import { WEBHOOK_STEP_TITLES } from "./webhook.ts";

export const FACT_TABLES = [
  EXPECTED_RESULTS,
  STEP_RESULTS,
  FAILURE_RESULTS,
  CAUSES,
  NOTES,
  NO_VERDICT,
  { not_again: NOT_JUDGED_REASONS.not_again },
  RECEIVER_CAUSES,
  DRILL_NOTES,
  CONNECTION_CAUSES,
  renameRows(JUDGED_INVARIANTS, (name) => name, ruleWords),
  renameRows(MISSING_FIELDS, missingStepName, ({ note }) => note),
  renameRows(
    WEBHOOK_STEP_TITLES,
    (name) => `form:${name}`,
    ({ title }) => title,
  ),
] as const satisfies readonly Readonly<Record<string, DrillSentence>>[];

const SENTENCES: ReadonlyMap<string, DrillSentence> = new Map(
  FACT_TABLES.flatMap((table) => Object.entries<DrillSentence>(table)),
);

export function factOf<Value extends StepValue = string>(
  fact: string,
  ...values: readonly Value[]
): { readonly fact: string; readonly values: readonly Value[] } {
  return { fact, values };
}

export function withNames(namesText: string | undefined, fact: StepValue): StepText {
  return namesText === undefined ? fact : factOf<StepValue>("in_names", fact, namesText);
}

export function stepTextWords(value: StepText): Words {
  if (typeof value === "string") return [value, value];
  const values = value.values.map(stepTextWords);
  const sentence = SENTENCES.get(value.fact);
  if (sentence === undefined) return [value.fact, value.fact];
  if (typeof sentence !== "function") return sentence;
  return [sentence(...values.map(([text]) => text))[0], sentence(...values.map(([, text]) => text))[1]];
}

export function englishOf(text: StepText): string {
  return english(stepTextWords(text));
}

export function stepInEnglish({ expected, got, cause, ...step }: DrillStep): ShownStep {
  return {
    ...step,
    expected: englishOf(expected),
    got: englishOf(got),
    cause: cause === null ? null : englishOf(cause),
  };
}

function ruleWords({ rule, remedy }: { readonly rule: Words; readonly remedy: Words }): Words {
  return [`${rule[0]}: ${remedy[0]}`, `${rule[1]}：${remedy[1]}`];
}

function renameRows<Row>(
  rows: Readonly<Record<string, Row>>,
  rename: (name: string) => string,
  wordsOfRow: (row: Row) => Words,
): Readonly<Record<string, Words>> {
  return Object.fromEntries(Object.entries(rows).map(([name, row]) => [rename(name), wordsOfRow(row)]));
}
