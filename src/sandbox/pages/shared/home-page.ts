import { html } from "../../../web/html.ts";
import { languageOf } from "../../../web/language.ts";
import { pageResponse } from "../../../web/page.ts";
import type { HttpResponse } from "../../../world.ts";
import type { PortalAccess } from "../../runtime/portal-access.ts";
import type { AreaRequest } from "../../area.ts";
import { payerLayout, factRow } from "./layout.ts";
import { SHARED_TEXTS } from "./texts.ts";

type HomeContext = { readonly localOrigin: string; readonly portal: Pick<PortalAccess, "isOff"> };

export function homeAnswer(
  { request, requestId }: AreaRequest,
  { localOrigin, portal }: HomeContext,
): HttpResponse {
  const main = html`<main id="page" class="single">
    <section class="card">
      <h1>${SHARED_TEXTS.homeTitle}</h1>
      <p>${SHARED_TEXTS.homeHint}</p>
      <dl>
        ${factRow(SHARED_TEXTS.homeApi, html`<code>${localOrigin}/v1</code>`)}
        ${factRow(SHARED_TEXTS.homeControl, html`<code>${localOrigin}/__sandbox</code>`)}
        ${factRow(SHARED_TEXTS.homeTry, html`<code>checkout orders create</code>`)}
        ${portal.isOff ? "" : factRow(SHARED_TEXTS.homePortal, html`<code>checkout open</code>`)}
        ${factRow(SHARED_TEXTS.homeHelp, html`<code>checkout --help</code>`)}
      </dl>
      <a class="plain" href="/healthz">${SHARED_TEXTS.homeHealth}</a>
    </section>
  </main>`;
  const markup = payerLayout({ title: SHARED_TEXTS.homeTitle, main });
  return pageResponse({ status: 200, markup, language: languageOf(request) }, requestId);
}
