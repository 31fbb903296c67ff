import { html, type Html } from "../../../web/html.ts";
import { LANGUAGE_TAGS } from "../../../web/language.ts";
import { SCRIPT_PATH, STYLE_PATH } from "../shared/layout.ts";
import type { Content, PortalContext, View } from "./view.ts";
import { FRAME_TEXTS } from "./texts.ts";

/** Paths of the portal's own style and script. */
export const PORTAL_STYLE_PATH = "/portal/assets/portal.css";
export const PORTAL_SCRIPT_PATH = "/portal/assets/portal.js";

/** The address of a page of a store. */
export function storePath({ storeId }: Pick<View, "storeId">, path: string): string {
  return `/portal/${storeId}${path}`;
}

/** A whole page: the frame around its content. */
export function framed(context: PortalContext, view: View, { title, main }: Content): string {
  const texts = FRAME_TEXTS[view.language];
  return String(
    html`<!doctype html>
      <html lang="${LANGUAGE_TAGS[view.language]}">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <title>${title} · checkout</title>
          <link rel="icon" href="data:," />
          <link rel="stylesheet" href="${STYLE_PATH}" />
          <link rel="stylesheet" href="${PORTAL_STYLE_PATH}" />
          <script src="${SCRIPT_PATH}" defer></script>
          <script src="${PORTAL_SCRIPT_PATH}" defer></script>
        </head>
        <body class="portal">
          <header class="bar">
            <strong>${storeName(context, view)}</strong><span class="test">${texts.test}</span>
          </header>
          ${menu(view)}
          <main id="page">
            <h1>${title}</h1>
            ${main}
          </main>
        </body>
      </html> `,
  );
}

/** A form with one button, which runs an act. Its other fields are given as markup, or as names and values. */
export function actForm(
  { formToken }: Pick<View, "formToken">,
  {
    action,
    label,
    fields = {},
    content = "",
    style = "",
  }: {
    /** A path of the portal. */
    readonly action: string;
    readonly label: string;
    readonly fields?: Readonly<Record<string, string>>;
    readonly content?: Html | "";
    readonly style?: "" | "primary" | "danger";
  },
): Html {
  const hidden = Object.entries({ ...fields, token: formToken });
  return html`<form method="post" action="${action}" class="act">
    ${hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)} ${content}
    <button type="submit" class="${style}">${label}</button>
  </form>`;
}

/** A destructive act: its form is shown after one question, which says what will happen. It works without JavaScript. */
export function askedOnce(label: string, question: string, form: Html): Html {
  return html`<details class="asked">
    <summary>${label}</summary>
    <p>${question}</p>
    ${form}
  </details>`;
}

function storeName({ store }: PortalContext, { storeId }: View): string {
  return store.stores.names(storeId)?.store ?? "";
}

function menu(view: View): Html {
  if (view.storeId === "") return html``;
  const texts = FRAME_TEXTS[view.language];
  const { path } = view.call;
  const entries = [
    ["/start", texts.start],
    ["/checkouts", texts.checkouts],
    ["/webhooks", texts.webhooks],
    ["/requests", texts.requests],
    ["/catalog", texts.catalog],
    ["/keys", texts.keys],
    ["/settings", texts.settings],
    ["/clock", texts.clock],
    ["/faults", texts.faults],
    ["/launch", texts.launch],
    ["/stores", texts.stores],
  ] as const;
  return html`<nav class="menu" aria-label="${texts.menu}">
    <ul>
      ${entries.map(([at, label]) => {
        const address = storePath(view, at);
        const current = path.startsWith(address) ? html` aria-current="page"` : html``;
        return html`<li><a href="${address}" ${current}>${label}</a></li>`;
      })}
    </ul>
  </nav>`;
}
