import * as z from "zod";
import { EXPLAINED } from "../explain/explanation.ts";
import { moment, storeOperation } from "./operation.ts";

const MAX_ID = 64;

const difference = z.object({ field: z.string(), first: z.string().nullable(), this: z.string().nullable() });
const entry = z.object({
  at: moment,
  what: z.enum(["request", "event", "delivery", "attempt", "late_result"]),
  id: z.string().nullable(),
  of: z.string().nullable(),
  status: z.int().nullable(),
  durationMs: z.number().nullable(),
  text: z.string(),
});

/** The operation that answers every "why" (decision 87). */
export const explainOperations = {
  explain: storeOperation({
    method: "GET",
    path: "/explain",
    summary:
      "Explains a request, a checkout, an event, a delivery or an order: what happened, why, what to do",
    request: z.strictObject({ id: z.string().min(1).max(MAX_ID), as: z.enum(EXPLAINED).optional() }),
    answer: z.object({
      kind: z.enum(EXPLAINED),
      id: z.string(),
      summary: z.string(),
      check: z.string().nullable(),
      rule: z.int().nullable(),
      decision: z.int().nullable(),
      expected: z.string().nullable(),
      received: z.string().nullable(),
      differences: z.array(difference),
      entries: z.array(entry),
      next: z.array(z.string()),
    }),
  }),
};
