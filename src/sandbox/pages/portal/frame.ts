import { html, type Html } from "../../../web/html.ts";
import { LANGUAGE_TAGS, type Language } from "../../../web/language.ts";
import type { PortalRole } from "../../runtime/portal-access.ts";
import { HTMX, STYLE } from "../shared/assets.ts";
import { HTMX_CONFIG } from "../shared/layout.ts";
import { PORTAL_SCRIPT, PORTAL_STYLE } from "./assets.ts";
import { bar, menu, plainBar } from "./frame/header.ts";
import { keysHelp } from "./frame/keys-help.ts";
import { liveAttributes, liveHead } from "./live/parts.ts";
import { copyable } from "./parts.ts";
import { FRAME_TEXTS } from "./texts.ts";
import type { Content, PortalContext, View } from "./view.ts";

/** A whole page for who is signed in: the frame around its content. */
export function framed(context: PortalContext, view: View, content: Content): string {
  const { language, storeId, call } = view;
  const texts = FRAME_TEXTS[language];
  const store = storeId === "" ? "" : ` · ${context.store.stores.names(storeId)?.store ?? ""}`;
  const isAdmin = call.caller?.role === "administrator";
  const main = html`${content.main} ${isAdmin ? "" : commandsHint(context, view)}`;
  const keys = call.caller?.hasKeys === true ? storeId : undefined;
  return document(language, {
    title: `${content.title}${store}`,
    style: `portal${isAdmin ? " admin" : ""}${isAdmin || storeId === "" ? " wide" : ""}`,
    keys,
    head: liveHead(content.live),
    body: html`<a class="skip" href="#page">${texts.skip}</a> ${bar(context, view, content.live)}
      ${isAdmin ? "" : menu(context, view)}
      ${mainPart({ ...content, main }, liveAttributes(content.live, view))}
      ${keys === undefined ? "" : keysHelp(language)}`,
  });
}

/** A whole page for who is not signed in. */
export function framedAlone(
  language: Language,
  role: PortalRole,
  content: Content,
  { reloads = false }: { readonly reloads?: boolean } = {},
): string {
  return document(language, {
    title: content.title,
    style: `portal alone${role === "administrator" ? " admin" : ""}`,
    keys: undefined,
    reloads,
    body: html`${plainBar(language)} ${mainPart(content)}`,
  });
}

/** The lines to type on a page are about the first store, or the one that was chosen in the folder. */
function commandsHint({ store }: PortalContext, { storeId, language }: View): Html {
  if (storeId === "" || store.stores.first()?.id === storeId) return html``;
  return html`<p class="hint">
    ${FRAME_TEXTS[language].commandsOfStore} ${copyable(`checkout stores use ${storeId}`)}
  </p>`;
}

function mainPart({ title, main }: Content, attributes: Html = html``): Html {
  return html`<main id="page" tabindex="-1" ${attributes}>
    <h1>${title}</h1>
    ${main}
  </main>`;
}

function document(
  language: Language,
  page: {
    readonly title: string;
    readonly style: string;
    /** The store that keys lead to pages of, empty for none; undefined: keys do nothing. */
    readonly keys: string | undefined;
    /** What stands behind the scripts that every page has. */
    readonly head?: Html;
    readonly body: Html;
    readonly reloads?: boolean;
  },
): string {
  const keys = page.keys === undefined ? html`` : html` data-keys="${page.keys}"`;
  return String(
    html`<!doctype html>
      <html lang="${LANGUAGE_TAGS[language]}">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <meta name="htmx-config" content="${HTMX_CONFIG}" />
          ${page.reloads === true ? html`<meta http-equiv="refresh" content="0" />` : ""}
          <title>${page.title} · checkout</title>
          <link rel="icon" href="data:," />
          <link rel="stylesheet" href="${STYLE.address}" />
          <link rel="stylesheet" href="${PORTAL_STYLE.address}" />
          <script src="${PORTAL_SCRIPT.address}" defer></script>
          <script src="${HTMX.address}" defer></script>
          ${page.head ?? ""}
        </head>
        <body class="${page.style}" ${keys}>
          ${page.body}
        </body>
      </html> `,
  );
}
