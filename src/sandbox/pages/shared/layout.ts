import { html, type Html } from "../../../web/html.ts";
import { LANGUAGE_TAGS, type Language } from "../../../web/language.ts";
import { HTMX, SEND_BACK, STYLE } from "./assets.ts";
import { SHARED_TEXTS } from "./texts.ts";

/**
 * htmx without its own style sheet, which the content security policy would refuse. Answers 5xx and 403 leave the page
 * as it is; a 404, from a sandbox that does not know the checkout, replaces it.
 */
export const HTMX_CONFIG = JSON.stringify({
  includeIndicatorCSS: false,
  history: false,
  noSwap: [204, 304, 403, "5xx"],
  morphIgnore: ["data-htmx-powered", "open"],
});

/** A whole page around its main part. */
export function layout(language: Language, page: { readonly title: string; readonly main: Html }): string {
  const texts = SHARED_TEXTS[language];
  return String(
    html`<!doctype html>
      <html lang="${LANGUAGE_TAGS[language]}">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <meta name="robots" content="noindex" />
          <meta name="htmx-config" content="${HTMX_CONFIG}" />
          <title>${page.title}</title>
          <link rel="icon" href="data:," />
          <link rel="stylesheet" href="${STYLE.address}" />
          <script src="${HTMX.address}" defer></script>
          <script src="${SEND_BACK.address}" defer></script>
        </head>
        <body>
          <header class="ribbon"><strong>${texts.testMode}</strong><span>${texts.noMoney}</span></header>
          ${page.main}
        </body>
      </html> `,
  );
}

/**
 * A main part that updates itself: htmx polls, less often after the end, and changes what differs. Only the status is
 * announced. The offline warning is a new element in every answer, which restarts its CSS animation: it appears when
 * answers are missing.
 */
export function liveMain(
  { language, requestId }: { readonly language: Language; readonly requestId: string },
  page: {
    /** The status in words. */
    readonly state: string;
    readonly address: string;
    readonly isOver: boolean;
    readonly style: "checkout" | "single";
    readonly content: Html;
  },
): Html {
  const pace = page.isOver ? "slow" : "fast";
  return html`<main
    id="page"
    class="${page.style}"
    hx-get="${page.address}"
    hx-trigger="every ${pace === "slow" ? "10s" : "1s"}"
    hx-select="#page"
    hx-swap="outerMorph"
  >
    ${stateLine(page.state)} ${page.content}
    <p class="no-answer ${pace}" id="answer-${requestId}">${SHARED_TEXTS[language].noAnswer}</p>
  </main>`;
}

/** A row of a list of facts. */
export function row(label: string, value: string | Html): Html {
  return html`<div>
    <dt>${label}</dt>
    <dd>${value}</dd>
  </div>`;
}

/** A text that a screen reader announces when it changes; the element stays the same while the page is open. */
export function stateLine(words: string): Html {
  return html`<p id="state" class="visually-hidden" role="status">${words}</p>`;
}
