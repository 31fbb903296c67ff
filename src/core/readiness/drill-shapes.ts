import * as z from "zod/mini";
import { moment, textUpTo, type DomainOf } from "../shape/fields.ts";
import { nameSchemas } from "../shape/wire-names.ts";
import { DRILL_KINDS } from "./names.ts";

const MAX_TEXT_LENGTH = 2000;

export const drillText = textUpTo(MAX_TEXT_LENGTH);
const MAX_VALUES = 8;
const factOfTexts = z.strictObject({
  fact: drillText,
  values: z.array(drillText).check(z.maxLength(MAX_VALUES)),
});
const stepValue = z.union([drillText, factOfTexts]);
const factOfValues = z.strictObject({
  fact: drillText,
  values: z.array(stepValue).check(z.maxLength(MAX_VALUES)),
});
const stepText = z.union([drillText, factOfValues]);
export type StepValue = DomainOf<typeof stepValue>;
export type StepText = DomainOf<typeof stepText>;

export const drillStep = z.strictObject({
  name: drillText,
  passed: z.boolean(),
  expected: stepText,
  got: stepText,
  /** After a failure, the likely mistake in the merchant's code; after a pass, a note or null. */
  cause: z.nullable(stepText),
  reference: z.nullable(drillText),
});
export type DrillStep = DomainOf<typeof drillStep>;

/** `unknown`: the drill proves nothing, and is not recorded. */
export type DrillVerdict = "passed" | "failed" | "unknown";

const shownStep = z.extend(drillStep, { expected: drillText, got: drillText, cause: z.nullable(drillText) });
export type ShownStep = DomainOf<typeof shownStep>;
export const shownDrill = z.object({
  id: z.uuid(),
  kind: z.enum(DRILL_KINDS),
  /** Identifies the tested configuration; after a change of the configuration the drill no longer counts. */
  subject: z.string(),
  passed: z.boolean(),
  at: moment,
  steps: z.array(shownStep),
});
export type DrillFact = Omit<DomainOf<typeof shownDrill>, "steps"> & { readonly steps: readonly DrillStep[] };

export const runningDrill = z.object({ id: z.uuid(), drill: z.enum(DRILL_KINDS), since: moment });
export type RunningDrill = DomainOf<typeof runningDrill>;

nameSchemas({
  DrillStep: shownStep,
  Drill: shownDrill,
  DrillStepFacts: drillStep,
  StatedFact: factOfValues,
  StatedValue: factOfTexts,
  RunningDrill: runningDrill,
});
