import { accept, mapValue } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { removeKey } from "../../core/portal/path.ts";
import { requireSearchTarget } from "../explain/portal-page.ts";
import { signInLink } from "../runtime/portal-access.ts";
import type { HandlersOf } from "./handler.ts";

export const portalHandlers = {
  createSignIn: async (context, { body: { to: askedPage, storeId, ...rights } }) => {
    const { portal, tokens } = context;
    if (portal.isOff) return refuseFact("portal_is_off", {});
    const to = askedPage && (removeKey(portal.path, askedPage) ?? askedPage);
    const searchTarget = requireSearchTarget(context, to ?? "");
    if (!searchTarget.ok) return searchTarget;
    if (storeId === undefined) {
      const { code, expiresAt } = portal.issueCode();
      return accept({ signInUrl: signInLink(portal, code, to), expiresAt });
    }
    return mapValue(await tokens.issue("link", { storeId, ...rights }), ({ token, expiresAt }) => ({
      signInUrl: signInLink(portal, token, to ?? `/portal/${storeId}/start`),
      expiresAt,
    }));
  },
  endPortalSessions: async ({ portal }) => accept({ ended: portal.endAll() }),
} satisfies HandlersOf<"portal">;
