import { html } from "../../../web/html.ts";
import { languageOf } from "../../../web/language.ts";
import { pageResponse } from "../../../web/page.ts";
import type { HttpResponse } from "../../../world.ts";
import type { Call } from "../../area.ts";
import { layout } from "./layout.ts";
import { SHARED_TEXTS } from "./texts.ts";

/** The page at `/`, for who opens the sandbox in a browser: what it is, and where to go on. It tells nothing of a store. */
export function homeAnswer({ request, requestId }: Call, localOrigin: string): HttpResponse {
  const language = languageOf(request);
  const texts = SHARED_TEXTS[language];
  const main = html`<main id="page" class="single">
    <section class="card">
      <h1>${texts.homeTitle}</h1>
      <p>${texts.homeHint}</p>
      <dl>
        <div>
          <dt>${texts.homeApi}</dt>
          <dd><code>${localOrigin}/v1</code></dd>
        </div>
        <div>
          <dt>${texts.homeControl}</dt>
          <dd><code>${localOrigin}/__sandbox</code></dd>
        </div>
        <div>
          <dt>${texts.homeTry}</dt>
          <dd><code>checkout orders create</code></dd>
        </div>
        <div>
          <dt>${texts.homeHelp}</dt>
          <dd><code>checkout --help</code></dd>
        </div>
      </dl>
      <a class="plain" href="/healthz">${texts.homeHealth}</a>
    </section>
  </main>`;
  return pageResponse(
    { status: 200, markup: layout(language, { title: texts.homeTitle, main }), language },
    requestId,
  );
}
