import { removePortalKey } from "../../../core/portal/path.ts";
import { refuseFact } from "../../../core/refusals.ts";
import { html } from "../../../web/html.ts";
import type { HttpRequest } from "../../../world.ts";
import type { Answer } from "../../answer.ts";
import type { PortalAccess } from "../../runtime/portal-access.ts";
import { refusalAnswer, refusalPage, type RefusalContext } from "../shared/error-page.ts";
import { payerLayout } from "../shared/layout.ts";
import { FRAME_TEXTS } from "./texts.ts";
import { copyableText } from "./parts.ts";
import type { PortalContext } from "./view.ts";

/** A request without the secret path gets a page that reveals nothing about the sandbox (decision 99). */
export async function translatePortalPath(
  { portal, world }: Pick<PortalContext, "portal" | "world">,
  request: HttpRequest,
  answer: (request: HttpRequest) => Answer | Promise<Answer>,
): Promise<Answer> {
  if (portal.isOff) {
    const refusalContext = { request, requestId: world.uuid("portal") };
    return refusalPage(refusalContext, { ...refuseFact("portal_is_off", {}).refusal, code: "not_found" });
  }
  const target = removePortalKey(portal.path, request.target);
  if (target === undefined) return closedPage({ request, requestId: world.uuid("portal") });
  return addSecretPath(portal, await answer({ ...request, target }));
}

function closedPage(refusal: RefusalContext): Answer {
  const main = html`<main id="page" class="single">
    <section class="card">
      <h1>${FRAME_TEXTS.closed}</h1>
      <p>${FRAME_TEXTS.closedHint}</p>
      <p>${copyableText("checkout open")}</p>
    </section>
  </main>`;
  const markup = payerLayout({ title: FRAME_TEXTS.closed, main });
  const answer = refusalAnswer(refusal, { code: "not_found" }, markup);
  return { ...answer, isUnlogged: true };
}

/** Matches only attributes of markup: quotation marks in users' texts are escaped. */
const MARKUP_ADDRESS = /(?<=\s(?:href|action|formaction|src|hx-[\w-]+)=")\/portal(?=[/?#"])/g;
const HEADER_ADDRESSES = {
  Location: /^(https?:\/\/[^/]+)?\/portal(?=[/?#]|$)/,
  "Set-Cookie": /(; Path=)\/portal(?=[/;]|$)/,
} as const;

function addSecretPath({ path }: Pick<PortalAccess, "path">, answer: Answer): Answer {
  const headers = { ...answer.headers };
  for (const [name, address] of Object.entries(HEADER_ADDRESSES)) {
    const value = headers[name];
    if (value !== undefined) headers[name] = value.replace(address, `$1${path}`);
  }
  const { body } = answer;
  const isMarkup = typeof body === "string" && headers["Content-Type"]?.startsWith("text/html") === true;
  return { ...answer, headers, body: isMarkup ? body.replace(MARKUP_ADDRESS, path) : body };
}
