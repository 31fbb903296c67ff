import { displayStoreName } from "../../../core/config/store-name.ts";
import { translatorFor } from "../../../core/language.ts";
import type { Asset } from "../../../web/asset.ts";
import { html, type Html, type Text } from "../../../web/html.ts";
import { storeTime } from "../../with-store.ts";
import type { PortalRole } from "../../runtime/portal-access.ts";
import { HTMX_SCRIPT, BASE_STYLE } from "../shared/assets.ts";
import { standaloneDocument, pageDocument } from "../shared/layout.ts";
import { iconLink, LIVE_SCRIPT, PORTAL_SCRIPT, PORTAL_STYLE } from "./assets.ts";
import { hasFailingEndpoint } from "./frame/menu-counts.ts";
import { headerBar, barWithoutMenu, storeMenu } from "./frame/header.ts";
import { shortcutsHelp } from "./frame/shortcuts-help.ts";
import { pagePollAttributes } from "./live/parts.ts";
import { copyableText, textWithMoments, shortTimeHtml } from "./parts.ts";
import { FRAME_TEXTS } from "./texts.ts";
import type { PageContent, PortalContext, View } from "./view.ts";

export function framePage(context: PortalContext, view: View, content: PageContent): Html {
  const { storeId, call } = view;
  const store =
    storeId === "" ? "" : ` · ${displayStoreName(context.store.stores.names(storeId)?.store ?? "")}`;
  const isAdmin = call.caller?.role === "administrator";
  const main = html`${content.main} ${isAdmin ? "" : commandsHint(context, view)}`;
  const hasShortcuts = call.caller?.hasShortcuts === true;
  return portalPage({
    title: html`${content.title}${store}`,
    style: `portal${isAdmin ? " admin" : ""}${isAdmin || storeId === "" ? " wide" : ""}`,
    hasShortcuts,
    scripts: view.tag === undefined ? [] : [LIVE_SCRIPT],
    isFailing: storeId !== "" && hasFailingEndpoint(context, storeId),
    body: html`<a class="skip" href="#page">${FRAME_TEXTS.skip}</a>
      ${headerBar(context, view, content.listUpdates)} ${isAdmin ? "" : storeMenu(context, view)}
      ${noticePart(context, view)}
      ${mainPart({ ...content, main }, pagePollAttributes(content.listUpdates, view))}
      ${hasShortcuts ? shortcutsHelp() : ""}`,
  });
}

export function savedPage(store: string, { title, main }: PageContent): Html {
  const name = displayStoreName(store);
  return standaloneDocument({
    title: html`${title} · ${name} · checkout`,
    styles: [BASE_STYLE, PORTAL_STYLE],
    body: html`<body class="portal wide">
      ${barWithoutMenu(name)} ${mainPart({ title, main })}
    </body>`,
  });
}

/** The notice is outside the part of the page that live updates replace, so that the notice stays. */
function noticePart(context: PortalContext, { notice, storeId, language, refusedForm }: View): Html {
  if (notice === undefined) return html``;
  const now = storeTime(context, storeId);
  const words = textWithMoments(translatorFor(language)(notice.words), (at) => shortTimeHtml(at, now));
  const focusMark = refusedForm === undefined ? "" : html` tabindex="-1" autofocus`;
  return html`<div class="said">
    <p class="notice ${notice.tone}" role="status" ${focusMark}>${words}</p>
  </div>`;
}

export function signedOutPage(
  role: PortalRole,
  content: PageContent,
  { shouldReload = false }: { readonly shouldReload?: boolean } = {},
): Html {
  return portalPage({
    title: content.title,
    style: `portal alone${role === "administrator" ? " admin" : ""}`,
    hasShortcuts: false,
    shouldReload,
    body: html`${barWithoutMenu(FRAME_TEXTS.portal)} ${mainPart(content)}`,
  });
}

function commandsHint({ store }: PortalContext, { storeId, call }: View): Html {
  if (storeId === "" || call.caller?.limit !== undefined || store.stores.first()?.id === storeId)
    return html``;
  return html`<p class="hint">
    ${FRAME_TEXTS.commandsOfStore} ${copyableText(`checkout stores use ${storeId}`)}
  </p>`;
}

function mainPart({ title, main }: PageContent, attributes: Html = html``): Html {
  return html`<main id="page" tabindex="-1" ${attributes}>
    <h1>${title}</h1>
    ${main}
  </main>`;
}

function portalPage(page: {
  readonly title: Text;
  readonly style: string;
  readonly hasShortcuts: boolean;
  readonly scripts?: readonly Asset[];
  readonly body: Html;
  readonly shouldReload?: boolean;
  readonly isFailing?: boolean;
}): Html {
  return pageDocument({
    title: html`${page.title} · checkout`,
    head: page.shouldReload === true ? html`<meta http-equiv="refresh" content="0" />` : html``,
    styles: [BASE_STYLE, PORTAL_STYLE],
    scripts: [PORTAL_SCRIPT, HTMX_SCRIPT, ...(page.scripts ?? [])],
    icon: iconLink({ isFailing: page.isFailing === true }),
    body: html`<body class="${page.style}" ${page.hasShortcuts ? html` data-keys` : ""}>
      ${page.body}
    </body>`,
  });
}
