import { accept, refuse } from "../../core/outcome.ts";
import { withoutKey } from "../../core/portal/path.ts";
import { requireFound } from "../explain/portal-page.ts";
import { PORTAL_IS_OFF, signInLink } from "../runtime/portal-access.ts";
import type { HandlersOf } from "./handler.ts";

/** The handlers of operations on the portal. */
export const portalHandlers = {
  createSignIn: async (context, { body }) => {
    const { portal } = context;
    if (portal.isOff) return refuse("state_conflict", PORTAL_IS_OFF);
    const to = body.to && (withoutKey(portal.path, body.to) ?? body.to);
    const found = requireFound(context, to ?? "");
    if (!found.ok) return found;
    const { code, expiresAt } = portal.issueCode();
    return accept({ signInUrl: signInLink(portal, code, to), expiresAt });
  },
  endPortalSessions: async ({ portal }) => accept({ ended: portal.endAll() }),
} satisfies HandlersOf<"portal">;
