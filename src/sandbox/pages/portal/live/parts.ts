import { html, type Html } from "../../../../web/html.ts";
import type { ListUpdates, View } from "../view.ts";
import { LIVE_TEXTS } from "./texts.ts";

/** The query parameter with the position of the newest row when the list was loaded. */
export const SEEN_PARAMETER = "seen";

/** Attributes of `main#page`: a page without a list updates in place. */
export function liveAttributes(listUpdates: ListUpdates | undefined, view: View): Html {
  return listUpdates === undefined ? pollAttributes(view, "page", view.call) : html``;
}

/** Polls each second, and when a hidden tab becomes visible. A poll also replaces this element, which carries the ETag. */
function pollAttributes(
  { call: { path }, tag }: View,
  id: string,
  { query, rowIds = [] }: { readonly query: string; readonly rowIds?: readonly string[] },
): Html {
  if (tag === undefined) return html``;
  return html` hx-get="${path}${query === "" ? "" : `?${query}`}" hx-trigger="every 1s,visibilitychange
  from:document" hx-headers="${JSON.stringify({ "If-None-Match": tag })}" hx-select="#${id}"
  hx-swap="outerMorph"
  hx-select-oob="${["menu", "clock", ...rowIds].map((key) => `#${key}:outerMorph`).join()}"`;
}

/** The mark in the bar that shows whether the page is live, the bars over an outdated page, and the count of new rows. */
export function liveMark(listUpdates: ListUpdates | undefined, view: View): Html {
  const { tag, call } = view;
  if (tag === undefined) return html``;
  const address = `${call.path}${call.query === "" ? "" : `?${call.query}`}`;
  return html`<span id="live" class="live" hidden
      >${Object.entries(LIVE_TEXTS.states).map(([state, text]) => html`<span data-when="${state}">${text}</span>`)}</span
    >${Object.entries(LIVE_TEXTS.endings).map(
      ([state, text]) =>
        html`<p class="ending" data-when="${state}" role="alert" hidden>
          ${text} <a href="${address}">${LIVE_TEXTS.again}</a>
        </p>`,
    )}
    <span id="changes" class="visually-hidden" role="status" data-other="${LIVE_TEXTS.changed}"></span>
    ${listUpdates === undefined ? "" : newRows(view, listUpdates)}`;
}

/** The number of new rows. A poll updates it and the shown rows, and adds, removes or moves no row. */
function newRows(view: View, { newestPosition, count, rowIds }: ListUpdates): Html {
  const pollQuery = new URLSearchParams(view.query);
  if (!pollQuery.has(SEEN_PARAMETER)) pollQuery.set(SEEN_PARAMETER, String(newestPosition));
  return html`<span id="news" ${pollAttributes(view, "news", { query: pollQuery.toString(), rowIds })}>
    <a href="" id="new-rows" class="new-rows" ${count === 0 ? html`hidden` : ""}
      >${count === 0 ? "" : LIVE_TEXTS.newRows(count)}</a
    >
  </span>`;
}
