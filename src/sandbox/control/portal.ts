import { DEFAULT_VALIDITY_MS } from "../../core/control/operations/keys.ts";
import { accept, mapValue } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { removeKey } from "../../core/portal/path.ts";
import { requireSearchTarget } from "../explain/portal-page.ts";
import { signInLink } from "../runtime/portal-access.ts";
import type { HandlersOf } from "./handler.ts";

export const portalHandlers = {
  createSignIn: async (context, { body }) => {
    const { portal, tokens } = context;
    if (portal.isOff) return refuseFact("portal_is_off", {});
    const to = body.to && (removeKey(portal.path, body.to) ?? body.to);
    const found = requireSearchTarget(context, to ?? "");
    if (!found.ok) return found;
    const { storeId, role = "store", validMs = DEFAULT_VALIDITY_MS } = body;
    if (storeId === undefined) {
      const { code, expiresAt } = portal.issueCode();
      return accept({ signInUrl: signInLink(portal, code, to), expiresAt });
    }
    const first = to ?? `/portal/${storeId}/start`;
    return mapValue(await tokens.issueLink({ storeId, role }, validMs), ({ secret, expiresAt }) => ({
      signInUrl: signInLink(portal, secret, first),
      expiresAt,
    }));
  },
  endPortalSessions: async ({ portal }) => accept({ ended: portal.endAll() }),
} satisfies HandlersOf<"portal">;
