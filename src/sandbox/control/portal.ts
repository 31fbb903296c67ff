import type { portalOperations } from "../../core/control/portal.ts";
import { accept } from "../../core/outcome.ts";
import type { Handlers } from "./handler.ts";

/** What each operation on the portal does. */
export const portalHandlers = {
  createSignIn: async ({ portal }, { body: { to } }) => {
    const { code, expiresAt } = portal.issueCode();
    const target = to === undefined ? "" : `?to=${encodeURIComponent(to)}`;
    return accept({ signInUrl: `${portal.origin}/portal/sign-in${target}#t=${code}`, expiresAt });
  },
  endPortalSessions: async ({ portal }) => accept({ ended: portal.endAll() }),
} satisfies Pick<Handlers, keyof typeof portalOperations>;
