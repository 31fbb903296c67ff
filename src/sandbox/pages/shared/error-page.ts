import { ERRORS } from "../../../core/errors.ts";
import { refusalWords, type Refusal } from "../../../core/outcome.ts";
import { html, type Html } from "../../../web/html.ts";
import type { Words } from "../../../core/language.ts";
import { languageOf } from "../../../web/language.ts";
import { pageResponse } from "../../../web/page.ts";
import type { HttpRequest } from "../../../world.ts";
import type { Answer } from "../../answer.ts";
import { payerLayout, statusAnnouncement } from "./layout.ts";
import { SHARED_TEXTS } from "./texts.ts";

export type RefusalContext = { readonly request: HttpRequest; readonly requestId: string };

/** Contains an element with `role="status"`, so that screen readers announce the page when it replaces a live page. */
export function refusalPage(refusalContext: RefusalContext, refusal: Refusal, returnPath?: string): Answer {
  return refusalAnswer(refusalContext, refusal, errorPage(refusal, returnPath));
}

export function refusalAnswer(
  { request, requestId }: RefusalContext,
  { code, allow, retryAfterSeconds }: Omit<Refusal, "message">,
  markup: Html,
  language = languageOf(request),
): Answer {
  const { status } = ERRORS[code];
  return { ...pageResponse({ markup, language, status, allow, retryAfterSeconds }, requestId), note: code };
}

function errorPage(refusal: Refusal, returnPath: string | undefined): Html {
  const titles: Readonly<Record<number, Words>> = SHARED_TEXTS.errorTitle;
  const title = titles[ERRORS[refusal.code].status] ?? SHARED_TEXTS.errorTitle[400];
  const main = html`<main id="page" class="single">
    ${statusAnnouncement(title)}
    <section class="card">
      <h1>${title}</h1>
      ${returnPath === undefined ? html`<p class="hint">${SHARED_TEXTS.errorHint}</p>` : ""}
      <p class="hint">${SHARED_TEXTS.errorReason}</p>
      <p class="notice warn">${refusalWords(refusal)}</p>
      ${returnPath === undefined ? "" : html`<a class="primary" href="${returnPath}">${SHARED_TEXTS.backToCheckout}</a>`}
    </section>
  </main>`;
  return payerLayout({ title, main });
}
