import * as z from "zod";
import { DRILL_KINDS } from "../readiness/drills/drill.ts";

const moment = z.string().meta({ format: "date-time" });

/** So many steps a drill has at most. */
const MAX_STEPS = 50;
const MAX_TEXT = 2000;
const MAX_PAGE = 1000;

const text = z.string().max(MAX_TEXT);
const step = z.strictObject({
  name: text,
  passed: z.boolean(),
  expected: text,
  got: text,
  cause: text.nullable(),
  reference: text.nullable(),
});
/** What a drill has shown. */
export const drill = z.object({
  id: z.uuid(),
  kind: z.enum(DRILL_KINDS),
  subject: z.string(),
  passed: z.boolean(),
  at: moment,
  steps: z.array(step),
});
/** A drill as the control API tells it. */
export type DrillEntry = z.infer<typeof drill>;

const drillsQuery = z.strictObject({
  kind: z.enum(DRILL_KINDS).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).optional(),
});

/** The operations on drills (decision 50). */
export const drillOperations = {
  listDrills: {
    method: "GET",
    path: "/__sandbox/drills",
    summary: "Lists what drills have shown, newest first",
    request: drillsQuery,
    answer: z.object({ drills: z.array(drill) }),
    bare: false,
    refusals: ["not_found"],
  },
  runWebhookDrill: {
    method: "POST",
    path: "/__sandbox/drills/webhook",
    summary:
      "Sends good and bad requests to an endpoint, or to each that is on, and tells what its receiver does wrong",
    request: z.strictObject({ endpoint_id: z.uuid().optional() }),
    answer: z.object({ drills: z.array(drill.extend({ endpoint_id: z.uuid(), url: z.string() })) }),
    bare: false,
    refusals: ["not_found", "state_conflict"],
  },
  recordBrowserReturn: {
    method: "POST",
    path: "/__sandbox/drills/browser-return",
    summary: "Keeps what the drill of a browser's return has shown; its steps are done by the command line",
    request: z.strictObject({ return_url: text, steps: z.array(step).min(1).max(MAX_STEPS) }),
    answer: drill,
    bare: false,
    refusals: ["not_found"],
  },
} as const;
