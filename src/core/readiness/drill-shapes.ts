import * as z from "zod/mini";
import { moment, textUpTo, type DomainOf } from "../shape/fields.ts";
import { nameSchemas } from "../shape/wire-names.ts";
import { DRILL_KINDS } from "./names.ts";

const MAX_TEXT = 2000;

/** A text of a drill. */
export const drillText = textUpTo(MAX_TEXT);
/** One step of a drill. */
export const drillStep = z.strictObject({
  name: drillText,
  passed: z.boolean(),
  expected: drillText,
  got: drillText,
  /** After a failure, the likely mistake in the merchant's code; after a pass, a note or null. */
  cause: z.nullable(drillText),
  /** The id of the step's event or request. */
  reference: z.nullable(drillText),
});
/** One step of a drill: its name, the expected and the received result, and the likely cause of a failure or a note. */
export type DrillStep = DomainOf<typeof drillStep>;

/** The verdict on a drill. `unknown`: the drill proves nothing, and is not recorded. */
export type DrillVerdict = "passed" | "failed" | "unknown";

/** The result of a drill. */
export const drillResult = z.object({
  id: z.uuid(),
  kind: z.enum(DRILL_KINDS),
  /** Identifies the tested configuration; when it changes, the drill is void. */
  subject: z.string(),
  passed: z.boolean(),
  at: moment,
  steps: z.array(drillStep),
});
/** The result of a drill as evidence. */
export type DrillFact = DomainOf<typeof drillResult>;

/** A running drill and the time of its start. */
export const runningDrill = z.object({ id: z.uuid(), drill: z.enum(DRILL_KINDS), since: moment });
export type RunningDrill = DomainOf<typeof runningDrill>;

nameSchemas({ DrillStep: drillStep, Drill: drillResult, RunningDrill: runningDrill });
