import * as z from "zod/mini";
import { moment, wholeNumber, type DomainOf } from "../shape/fields.ts";

export const assumptionEntry = z.object({
  decision: wholeNumber(1),
  title: z.string(),
  chosen: z.string(),
  setting: z.nullable(z.string()),
  shownBy: z.nullable(z.string()),
  /** Differences that the store's dialect makes, each as `chosen → in effect`; omitted if there are none. */
  inEffect: z.optional(z.array(z.string())),
  reliedOn: z.nullable(z.object({ since: moment, requestId: z.string() })),
});
/** A gap in the interface and the sandbox's choice; a real service may choose differently. */
export type AssumptionEntry = DomainOf<typeof assumptionEntry>;
