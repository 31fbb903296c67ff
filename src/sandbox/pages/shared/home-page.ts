import { html } from "../../../web/html.ts";
import { languageOf } from "../../../web/language.ts";
import { pageResponse } from "../../../web/page.ts";
import type { HttpResponse } from "../../../world.ts";
import type { PortalAccess } from "../../runtime/portal-access.ts";
import type { Call } from "../../area.ts";
import { layout, row } from "./layout.ts";
import { SHARED_TEXTS } from "./texts.ts";

type HomeContext = { readonly localOrigin: string; readonly portal: Pick<PortalAccess, "isOff"> };

/** The page at `/`, for who opens the sandbox in a browser: what it is, and where to go on. It tells nothing of a store. */
export function homeAnswer({ request, requestId }: Call, { localOrigin, portal }: HomeContext): HttpResponse {
  const language = languageOf(request);
  const texts = SHARED_TEXTS[language];
  const main = html`<main id="page" class="single">
    <section class="card">
      <h1>${texts.homeTitle}</h1>
      <p>${texts.homeHint}</p>
      <dl>
        ${row(texts.homeApi, html`<code>${localOrigin}/v1</code>`)}
        ${row(texts.homeControl, html`<code>${localOrigin}/__sandbox</code>`)}
        ${row(texts.homeTry, html`<code>checkout orders create</code>`)}
        ${portal.isOff ? "" : row(texts.homePortal, html`<code>checkout open</code>`)}
        ${row(texts.homeHelp, html`<code>checkout --help</code>`)}
      </dl>
      <a class="plain" href="/healthz">${texts.homeHealth}</a>
    </section>
  </main>`;
  return pageResponse(
    { status: 200, markup: layout(language, { title: texts.homeTitle, main }), language },
    requestId,
  );
}
