import { accept, mapValue } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { removePortalKey } from "../../core/portal/path.ts";
import { requireSearchTarget } from "../explain/portal-page.ts";
import { signInLink } from "../runtime/portal-access.ts";
import type { HandlersOf } from "./handler.ts";

export const portalHandlers = {
  createSignIn: async (context, { body: { to: requestedPage, storeId, ...rights } }) => {
    const { portal, tokens } = context;
    if (portal.isOff) return refuseFact("portal_is_off", {});
    const nextAddress = requestedPage && (removePortalKey(portal.path, requestedPage) ?? requestedPage);
    const searchTarget = requireSearchTarget(context, nextAddress ?? "");
    if (!searchTarget.ok) return searchTarget;
    if (storeId === undefined) {
      const { code, expiresAt } = portal.issueCode();
      return accept({ signInUrl: signInLink(portal, code, nextAddress), expiresAt });
    }
    return mapValue(await tokens.issue("link", { storeId, ...rights }), ({ token, expiresAt }) => ({
      signInUrl: signInLink(portal, token, nextAddress ?? `/portal/${storeId}/start`),
      expiresAt,
    }));
  },
  endPortalSessions: async ({ portal }) => accept({ ended: portal.endAll() }),
} satisfies HandlersOf<"portal">;
