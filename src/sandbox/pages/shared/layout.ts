import { displayText } from "../../../core/text.ts";
import type { Asset } from "../../../web/asset.ts";
import { html, trustMarkup, type Html, type Text } from "../../../web/html.ts";
import { languageTagOf } from "../../../web/language.ts";
import { HTMX_SCRIPT, SEND_BACK_SCRIPT, BASE_STYLE } from "./assets.ts";
import { SHARED_TEXTS } from "./texts.ts";

/**
 * No indicator CSS, which the content security policy would block. Answers with 403 and 5xx keep the page; a 404
 * replaces it, because the sandbox no longer knows the checkout.
 */
const HTMX_CONFIG = JSON.stringify({
  includeIndicatorCSS: false,
  history: false,
  noSwap: [204, 304, 403, "5xx"],
  morphIgnore: ["data-htmx-powered", "open"],
});

type PageParts = {
  readonly title: Text;
  readonly head: Html;
  readonly icon?: Html;
  readonly body: Html;
};

type Files = { readonly styles: readonly Asset[]; readonly scripts: readonly Asset[] };

export function pageDocument({ styles, scripts, ...page }: PageParts & Files): Html {
  return pageMarkup({
    ...page,
    head: html`<meta name="htmx-config" content="${HTMX_CONFIG}" /> ${page.head}
      ${styles.map(({ address }) => html`<link rel="stylesheet" href="${address}" />`)}
      ${scripts.map(({ address }) => html`<script src="${address}" defer></script>`)}`,
  });
}

const FILE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'";

export function standaloneDocument({ styles, ...page }: Omit<PageParts & Files, "head" | "scripts">): Html {
  return pageMarkup({
    ...page,
    head: html`<meta http-equiv="Content-Security-Policy" content="${FILE_POLICY}" />
      ${styles.map(({ text }) => trustMarkup(`<style>${text}</style>`))}`,
  });
}

function pageMarkup(page: PageParts): Html {
  return html`<!doctype html>
    <html lang="${languageTagOf}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${page.title}</title>
        ${page.icon ?? html`<link rel="icon" href="data:," />`} ${page.head}
      </head>
      ${page.body}
    </html> `;
}

export function payerLayout({ title, main }: { readonly title: Text; readonly main: Html }): Html {
  return pageDocument({
    title,
    head: html`<meta name="robots" content="noindex" />`,
    styles: [BASE_STYLE],
    scripts: [HTMX_SCRIPT, SEND_BACK_SCRIPT],
    body: html`<body>
      <header class="ribbon">
        <strong>${SHARED_TEXTS.testMode}</strong><span>${SHARED_TEXTS.noMoney}</span>
      </header>
      ${main}
    </body>`,
  });
}

export function factRow(label: Text, value: Text): Html {
  return html`<div>
    <dt>${label}</dt>
    <dd>${value}</dd>
  </div>`;
}

export function statusAnnouncement(words: Text): Html {
  return html`<p id="state" class="visually-hidden" role="status">${words}</p>`;
}

export function merchantText(text: string): Html {
  return html`<bdi>${displayText(text)}</bdi>`;
}
