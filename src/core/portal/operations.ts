import * as z from "zod/mini";
import { moment, sandboxOperation, whole } from "../control/operation.ts";

/** The operations on who is signed in to the portal (decision 99). */
export const portalOperations = {
  createSignIn: sandboxOperation({
    method: "POST",
    path: "/portal/sign-ins",
    summary: "Makes a link that signs one browser in to the portal, once",
    request: z.strictObject({
      /** The page to show then: a path of the portal, with or without its key. Refused where it looks for a UUID that nothing has. */
      to: z.optional(z.string().check(z.maxLength(2048))),
    }),
    answer: z.object({ signInUrl: z.string(), expiresAt: moment }),
    refusals: ["not_found", "state_conflict"],
  }),
  endPortalSessions: sandboxOperation({
    method: "DELETE",
    path: "/portal/sessions",
    summary: "Signs every browser out of the portal",
    answer: z.object({ ended: whole(0) }),
  }),
};
