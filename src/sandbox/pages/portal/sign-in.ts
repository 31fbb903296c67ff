import { accept, refuse } from "../../../core/outcome.ts";
import { requireOwnPage } from "../../../web/guard.ts";
import { html } from "../../../web/html.ts";
import { headerLines } from "../../../web/http.ts";
import { readForm } from "../../../web/page.ts";
import type { HttpRequest } from "../../../world.ts";
import type { PortalAccess, PortalSession } from "../../runtime/portal-access.ts";
import { page, sentOn, type PortalRoute } from "./route.ts";
import { FRAME_TEXTS } from "./texts.ts";

/** The path of the page where merchants sign in. */
export const SIGN_IN_PATH = "/portal/sign-in";

/** The pages for signing in, which need nobody who is signed in. */
export const SIGN_IN_ROUTES: readonly PortalRoute[] = [
  page(SIGN_IN_PATH, async (_context, { language, query }) => {
    const texts = FRAME_TEXTS[language];
    const main = html`<p>${texts.signInHint}</p>
      <form method="post" action="${SIGN_IN_PATH}" id="sign-in">
        <label>${texts.code} <input name="code" autocomplete="off" required /></label>
        <input type="hidden" name="to" value="${query.get("to") ?? ""}" />
        <button type="submit">${texts.signIn}</button>
      </form>`;
    return accept({ title: texts.signIn, main });
  }),
  {
    methods: ["POST"],
    path: SIGN_IN_PATH,
    role: "anyone",
    entersStore: true,
    answer: async ({ portal }, call) => {
      const own = requireOwnPage(call.request, portal.origin);
      if (!own.ok) return own;
      const fields = readForm(call.request);
      if (!fields.ok) return fields;
      if (!portal.useCode(fields.value.get("code") ?? "")) {
        return refuse("credential_invalid", FRAME_TEXTS.en.codeRefused);
      }
      const session = portal.signIn("merchant");
      const answer = sentOn(call, pathWithin(fields.value.get("to") ?? ""));
      return accept({ ...answer, headers: { ...answer.headers, "Set-Cookie": cookieOf(portal, session) } });
    },
  },
];

/** The session of a request, by its cookie. */
export function sessionOf(portal: PortalAccess, request: HttpRequest): PortalSession | undefined {
  const name = cookieName(portal);
  const pairs = headerLines(request, "cookie").flatMap((line) => line.split(";"));
  const values = pairs.flatMap((pair) => {
    const [before = "", value = ""] = pair.trim().split("=");
    return before === name ? [value] : [];
  });
  // Two of one name: another server of this host has set one of them.
  return values.map((value) => portal.find("merchant", value)).find((session) => session !== undefined);
}

function cookieOf(portal: PortalAccess, { id }: PortalSession): string {
  return `${cookieName(portal)}=${id}; Path=/portal; HttpOnly; SameSite=Strict`;
}

function cookieName({ origin }: PortalAccess): string {
  return `checkout_portal_${new URL(origin).port}`;
}

/** A path of the portal, or its first page. */
function pathWithin(path: string): string {
  return /^\/portal(\/[\w\-/?=&%.#]*)?$/.test(path) ? path : "/portal";
}
