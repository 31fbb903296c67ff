import { accept, type Refusal } from "../../../../core/outcome.ts";
import { removePortalKey } from "../../../../core/portal/path.ts";
import { requireOwnPage } from "../../../../web/guard.ts";
import { html, type Html } from "../../../../web/html.ts";
import { pageResponse, parseForm } from "../../../../web/page.ts";
import type { Answer } from "../../../answer.ts";
import type { AreaRequest } from "../../../area.ts";
import type { PortalAccess, PortalRole } from "../../../runtime/portal-access.ts";
import { copyableText } from "../parts.ts";
import { signedOutPage } from "../frame.ts";
import { actionRoute, portalRoute, requireOwnForm, redirectTo, type PortalRoute } from "../route.ts";
import {
  sessionStartCookie,
  sessionEndCookie,
  homePathOf,
  sessionOf,
  SIGN_OUT_EVERYWHERE_PATH,
} from "./session-cookie.ts";
import { FRAME_TEXTS } from "../texts.ts";
import { viewOf, type PageContent, type PortalContext, type Viewer } from "../view.ts";

const ROLES = ["merchant", "administrator"] as const;

export const SIGN_IN_ROUTES: readonly PortalRoute[] = [
  ...ROLES.map(signInPageRoute),
  ...ROLES.map(signInRoute),
  ...ROLES.map(signOutRoute),
  actionRoute(SIGN_OUT_EVERYWHERE_PATH, {
    operation: "endPortalSessions",
    nextAddress: () => `${homePathOf("merchant")}/sign-in`,
  }),
  ...ROLES.map(preferencesRoute),
];

const { signIn, signInHint, code, signInAdmin, signInAdminHint, adminToken } = FRAME_TEXTS;
const FORMS = {
  merchant: { title: signIn, hint: signInHint, label: code, name: "code", type: "text" },
  administrator: {
    title: signInAdmin,
    hint: signInAdminHint,
    label: adminToken,
    name: "admin_token",
    type: "password",
  },
} as const;

function signInPageRoute(role: PortalRole): PortalRoute {
  return portalRoute({ path: `${homePathOf(role)}/sign-in`, minRole: null }, (context, call) => {
    const { language, query } = viewOf(context, call);
    const markup = signedOutPage(role, signInPage(role, query.get("to")));
    return accept({ ...pageResponse({ status: 200, markup, language }, call.requestId), isUnlogged: true });
  });
}

export function signInPage(role: PortalRole, nextAddress: string | null, refusal?: Refusal): PageContent {
  const { title, hint, label, name, type } = FORMS[role];
  const main = html`${refusalNotice(role, refusal)}
    <p>${hint}</p>
    ${role === "merchant" ? html`<p>${copyableText("checkout open")}</p>` : ""}
    <form method="post" action="${homePathOf(role)}/sign-in" id="sign-in" class="act">
      <label
        >${label} <input name="${name}" type="${type}" autocomplete="off" spellcheck="false" required
      /></label>
      <input type="hidden" name="to" value="${nextAddress ?? ""}" />
      <button type="submit" class="primary">${FRAME_TEXTS.signIn}</button>
    </form>`;
  return { title, main };
}

function refusalNotice(role: PortalRole, refusal: Refusal | undefined): Html {
  if (refusal?.code === "rate_limited") {
    return html`<p class="notice warn" role="alert">
      ${FRAME_TEXTS.tooManyTries(refusal.retryAfterSeconds ?? 0)}
    </p>`;
  }
  if (refusal?.code === "credential_invalid") {
    const text = role === "merchant" ? FRAME_TEXTS.codeRefused : FRAME_TEXTS.tokenRefused;
    return html`<p class="notice bad" role="alert">${text}</p>`;
  }
  return refusal === undefined ? html`` : html`<p class="notice">${FRAME_TEXTS.notSignedIn}</p>`;
}

function signInRoute(role: PortalRole): PortalRoute {
  return portalRoute(
    { methods: ["POST"], path: `${homePathOf(role)}/sign-in`, minRole: null },
    async ({ portal }, call) => {
      const pageCheck = requireOwnPage(call.request, portal.origin);
      if (!pageCheck.ok) return pageCheck;
      const fields = parseForm(call.request);
      if (!fields.ok) return fields;
      const currentSession = sessionOf(portal, call.request, role);
      // Users may paste the whole link instead of the code.
      const pastedCode = (fields.value.get("code") ?? "").trim().replace(/^.*#t=/, "");
      const session =
        role === "merchant"
          ? await portal.signInByCode(pastedCode, currentSession)
          : portal.signInByToken((fields.value.get("admin_token") ?? "").trim(), currentSession);
      if (!session.ok) return session;
      const answer = redirectTo(call, parsePortalPath(portal, fields.value.get("to")) ?? homePathOf(role));
      return accept({
        ...answer,
        headers: { ...answer.headers, "Set-Cookie": sessionStartCookie(portal, session.value) },
      });
    },
  );
}

function signOutRoute(role: PortalRole): PortalRoute {
  return ownFormRoute(role, "sign-out", async (context, call) => {
    if (call.caller !== undefined) await context.portal.signOut(call.caller);
    const answer = redirectTo(call, `${homePathOf(role)}/sign-in`);
    const headers = { ...answer.headers, "Set-Cookie": sessionEndCookie(context.portal, role) };
    return { ...answer, headers };
  });
}

function preferencesRoute(role: PortalRole): PortalRoute {
  return ownFormRoute(role, "preferences", ({ portal }, call, fields) => {
    const [language, keysValue] = [fields.get("language"), fields.get("keys")];
    if (call.caller !== undefined) {
      portal.setPreferences(call.caller, {
        ...(language === "en" || language === "zh" ? { language } : {}),
        ...(keysValue === undefined ? {} : { hasShortcuts: keysValue === "on" }),
      });
    }
    return redirectTo(call, parsePortalPath(portal, fields.get("back")) ?? homePathOf(role));
  });
}

function ownFormRoute(
  role: PortalRole,
  name: string,
  act: (
    context: PortalContext,
    call: AreaRequest<Viewer>,
    fields: ReadonlyMap<string, string>,
  ) => Answer | Promise<Answer>,
): PortalRoute {
  const minRole = role === "administrator" ? role : "viewer";
  return portalRoute(
    { methods: ["POST"], path: `${homePathOf(role)}/${name}`, minRole },
    async (context, call) => {
      const fields = requireOwnForm(context, call);
      return fields.ok ? accept(await act(context, call, fields.value)) : fields;
    },
  );
}

const PLACEHOLDER_ORIGIN = "http://portal.invalid";

/** Undefined for anything but a portal path, so that no form can redirect the user to another site. */
export function parsePortalPath(
  { path }: Pick<PortalAccess, "path">,
  text: string | null | undefined,
): string | undefined {
  if (text === null || text === undefined || !URL.canParse(text, PLACEHOLDER_ORIGIN)) return undefined;
  const { origin, pathname, search, hash } = new URL(text, PLACEHOLDER_ORIGIN);
  if (origin !== PLACEHOLDER_ORIGIN || !/^\/portal(\/|$)/.test(pathname)) return undefined;
  const address = pathname + search + hash;
  return removePortalKey(path, address) ?? address;
}
