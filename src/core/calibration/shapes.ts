import * as z from "zod/mini";
import { moment, wholeNumber, type DomainOf } from "../shape/fields.ts";

export const assumptionEntry = z.object({
  /** The number of the decision in docs/decisions.md. */
  decision: wholeNumber(1),
  title: z.string(),
  chosen: z.string(),
  /** The setting that changes the choice; null if there is none. */
  setting: z.nullable(z.string()),
  /** The evidence that the assumption was used; null if the service cannot see any. */
  shownBy: z.nullable(z.string()),
  /** Differences between choice and dialect of the store, each as `chosen → in effect`; missing if there are none. */
  inEffect: z.optional(z.array(z.string())),
  /** The first use, with the id of the request or, without a request, of the event or checkout. */
  reliedOn: z.nullable(z.object({ since: moment, requestId: z.string() })),
});
/** A gap in the interface and the sandbox's choice; a real service may choose differently. */
export type AssumptionEntry = DomainOf<typeof assumptionEntry>;
