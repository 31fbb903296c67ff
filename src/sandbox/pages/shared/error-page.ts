import { ERRORS } from "../../../core/errors.ts";
import type { Refusal } from "../../../core/outcome.ts";
import { html } from "../../../web/html.ts";
import type { Language } from "../../../web/language.ts";
import { layout, stateLine } from "./layout.ts";
import { SHARED_TEXTS } from "./texts.ts";

/**
 * A refusal as a page; the exact reason is in English, as in the API. `leadsBack` is the page of the checkout, if there
 * is one. It may replace a live page, and is then announced by screen readers.
 */
export function errorPage(
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
