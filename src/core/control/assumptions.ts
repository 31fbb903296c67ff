import * as z from "zod";

const moment = z.string().meta({ format: "date-time" });

const assumption = z.object({
  decision: z.int().min(1),
  title: z.string(),
  chosen: z.string(),
  setting: z.string().nullable(),
  /** What shows that it was relied on; null where the service cannot see that. */
  shown_by: z.string().nullable(),
  /** The first use; the id is that of the request or, where there was none, of the event or checkout. */
  relied_on: z.object({ since: moment, request_id: z.string() }).nullable(),
});
/** Something that the interface leaves open, as the control API tells it. */
export type AssumptionWire = z.infer<typeof assumption>;

/** The operation that lists what the interface leaves open. */
export const assumptionOperations = {
  assumptions: {
    method: "GET",
    path: "/__sandbox/assumptions",
    summary: "Lists what the interface leaves open and was decided here, and what the store relied on of it",
    request: z.undefined(),
    answer: z.object({ store_id: z.uuid(), assumptions: z.array(assumption) }),
    bare: false,
    refusals: ["not_found"],
  },
} as const;
