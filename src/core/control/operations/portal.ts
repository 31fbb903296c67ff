import * as z from "zod/mini";
import { sandboxOperation } from "../operation.ts";
import { storeRights } from "./keys.ts";
import { moment, textUpTo, wholeNumber } from "../../shape/fields.ts";

export const portalOperations = {
  createSignIn: sandboxOperation("owner", {
    part: "portal",
    route: ["POST", "/portal/sign-ins"],
    summary: "Creates a link to the portal",
    description:
      "Returns a link that signs one browser in to the portal, once, and the time at which the link expires: after 10 minutes, or with `store_id` after 24 hours. With `store_id` the link opens only that store, with the role, for a session of the length `valid_ms`. Refuses if there is no portal, or if the page is about an unknown id or store.",
    request: () =>
      z.strictObject({
        /** A path of the portal, with or without the portal's key. Refused if it contains an unknown UUID. */
        to: z.optional(textUpTo(2048)),
        /** Limits the link to one store. Default: the link opens all stores, as owner. */
        storeId: z.optional(z.uuid()),
        ...storeRights,
      }),
    answer: () => z.object({ signInUrl: z.string(), expiresAt: moment }),
    refusals: ["not_found", "state_conflict"],
  }),
  endPortalSessions: sandboxOperation("owner", {
    part: "portal",
    route: ["DELETE", "/portal/sessions"],
    summary: "Signs every browser out of the portal",
    description:
      "Ends every session of the portal, and returns the number of sessions. Unused links become invalid too.",
    answer: () => z.object({ ended: wholeNumber(0) }),
  }),
};
