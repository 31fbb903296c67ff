import { ERRORS } from "../../../core/errors.ts";
import type { Refusal } from "../../../core/outcome.ts";
import { html } from "../../../web/html.ts";
import { languageOf, type Language } from "../../../web/language.ts";
import { pageResponse } from "../../../web/page.ts";
import type { HttpRequest } from "../../../world.ts";
import type { Answer } from "../../answer.ts";
import { layout, stateLine } from "./layout.ts";
import { SHARED_TEXTS } from "./texts.ts";

/** A request that was refused, with the id of its answer. */
export type Refused = { readonly request: HttpRequest; readonly requestId: string };

/**
 * A refusal as a page for payers. `leadsBack` is the page of the checkout, if there is one. It may replace a live page,
 * and is then announced by screen readers.
 */
export function refusalPage(refused: Refused, refusal: Refusal, leadsBack?: string): Answer {
  const language = languageOf(refused.request);
  return refusalAnswer(refused, refusal, { markup: errorPage(language, { refusal, leadsBack }), language });
}

/** The answer of a refusal that is shown by a page. */
export function refusalAnswer(
  { requestId }: Refused,
  { code, allow, retryAfterSeconds }: Refusal,
  page: { readonly markup: string; readonly language: Language },
): Answer {
  const { status } = ERRORS[code];
  return { ...pageResponse({ ...page, status, allow, retryAfterSeconds }, requestId), note: code };
}

/** The exact reason is in English, as in the API. */
function errorPage(
  language: Language,
  { refusal, leadsBack }: { readonly refusal: Refusal; readonly leadsBack: string | undefined },
): string {
  const texts = SHARED_TEXTS[language];
  const titles: Readonly<Record<number, string>> = texts.errorTitle;
  const title = titles[ERRORS[refusal.code].status] ?? texts.errorTitle[400];
  const main = html`<main id="page" class="single">
    ${stateLine(title)}
    <section class="card">
      <h1>${title}</h1>
      ${leadsBack === undefined ? html`<p class="hint">${texts.errorHint}</p>` : ""}
      <p class="hint">${texts.errorReason}</p>
      <p class="notice warn" lang="en">${refusal.message}</p>
      ${leadsBack === undefined ? "" : html`<a class="primary" href="${leadsBack}">${texts.backToCheckout}</a>`}
    </section>
  </main>`;
  return layout(language, { title, main });
}
