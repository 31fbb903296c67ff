import { html, type Html } from "../../web/html.ts";
import type { Texts } from "./texts.ts";

/** Where the pages' style and script are served. */
export const STYLE_PATH = "/assets/checkout.css";
export const SCRIPT_PATH = "/assets/htmx.js";

/** htmx without its own style sheet, which the content security policy would refuse, and with the page kept where the answer is an error. */
const HTMX_CONFIG = JSON.stringify({
  includeIndicatorCSS: false,
  history: false,
  noSwap: [204, 304, "4xx", "5xx"],
  morphIgnore: ["data-htmx-powered", "open"],
});

/** A whole page around its main part. */
export function layout(texts: Texts, page: { readonly title: string; readonly main: Html }): string {
  return String(
    html`<!doctype html>
      <html lang="${texts.htmlLang}">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <meta name="robots" content="noindex" />
          <meta name="htmx-config" content="${HTMX_CONFIG}" />
          <title>${page.title}</title>
          <link rel="icon" href="data:," />
          <link rel="stylesheet" href="${STYLE_PATH}" />
          <script src="${SCRIPT_PATH}" defer></script>
        </head>
        <body>
          <header class="ribbon"><strong>${texts.testMode}</strong><span>${texts.noMoney}</span></header>
          ${page.main}
        </body>
      </html> `,
  );
}

/** The attributes of a main part that follows what happens: htmx asks again and changes what differs. When all is over little can. */
export function live(address: string, { isOver }: { readonly isOver: boolean }): Html {
  return html`id="page" hx-get="${address}" hx-trigger="every ${isOver ? "10s" : "1s"}" hx-select="#page"
  hx-swap="outerMorph"`;
}
