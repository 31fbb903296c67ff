import type { Asset } from "../../../../web/asset.ts";
import { html, type Html } from "../../../../web/html.ts";
import { LIVE_SCRIPT, SSE_SCRIPT } from "../assets.ts";
import type { PageContent, ListUpdates, LiveTopic, View } from "../view.ts";
import { END_EVENT } from "./stream.ts";
import { LIVE_TEXTS } from "./texts.ts";
import { formatPosition } from "./watched.ts";

/** Maximum number of reconnections of a lost stream: few, because its sandbox was probably stopped. */
const CONFIG = JSON.stringify({ sse: { reconnectMaxAttempts: 5 } });

/** The scripts of a live page, loaded after htmx. */
export function liveScripts(live: LiveTopic | undefined): readonly Asset[] {
  return live === undefined ? [] : [SSE_SCRIPT, LIVE_SCRIPT];
}

/** The updates that a page follows, if any. */
export type LiveContent = Pick<PageContent, "live" | "news">;

/** The parts of the frame that update together with a page: the numbers, and the store's clock. */
const FRAME_PARTS = "#menu:outerMorph,#clock:outerMorph";
/** The link of a list to its new rows. */
const NEW_ROWS = "new-rows";

/** The query parameter with the newest row that a list has shown. */
const SEEN_PARAMETER = "seen";

/** Attributes of `main#page`: a page without a list updates in place. */
export function liveAttributes({ live, news }: LiveContent, view: View): Html {
  if (live === undefined || news !== undefined || view.shownOnce !== undefined) return html``;
  return html`${askAgain(view.call)} hx-select="#page" hx-swap="outerMorph" hx-select-oob="${FRAME_PARTS}"`;
}

/** Attributes of an element that requests its page again after a change. */
function askAgain({ path, query }: Pick<View["call"], "path" | "query">): Html {
  return html` hx-get="${path}${query === "" ? "" : `?${query}`}" hx-trigger="changed from:#live"`;
}

/**
 * The mark in the bar that shows whether the page is live. It contains the stream, outside the updated parts. A list
 * does not move while it is read: a link next to it shows the number of new rows.
 */
export function liveMark({ live, news }: LiveContent, view: View): Html {
  const { position } = view;
  if (live === undefined || position === undefined || view.shownOnce !== undefined) return html``;
  const said = Object.entries(LIVE_TEXTS.states).map(
    ([state, text]) => html`<span data-when="${state}">${text}</span>`,
  );
  return html`<span
      id="live"
      class="live"
      hidden
      hx-sse:connect="${streamAddress(live, view.storeId, formatPosition(live.kind, position))}"
      hx-sse:close="${END_EVENT}"
      hx-trigger="never"
      hx-config="${CONFIG}"
      >${said}</span
    >${endings(view)}
    <span id="changes" class="visually-hidden" role="status"></span>
    ${news === undefined ? "" : newRows(view, news)}`;
}

/** Bars over the page, one of which is shown when the page is out of date. */
function endings({ call }: View): readonly Html[] {
  const address = `${call.path}${call.query === "" ? "" : `?${call.query}`}`;
  return Object.entries(LIVE_TEXTS.endings).map(
    ([state, text]) =>
      html`<p class="ending" data-ending="${state}" role="alert" hidden>
        ${text} <a href="${state === "gone" ? "/portal" : address}">${LIVE_TEXTS.again}</a>
      </p>`,
  );
}

/**
 * The link with the number of newer rows. It requests the list again, and takes from it the number and the current
 * version of each shown row: no row is added, removed or moved.
 */
function newRows({ call, query }: View, { newest, count, rows }: ListUpdates): Html {
  const again = new URLSearchParams(query);
  if (!again.has(SEEN_PARAMETER)) again.set(SEEN_PARAMETER, String(newest));
  const asking = askAgain({ path: call.path, query: again.toString() });
  const text = count === 0 ? "" : LIVE_TEXTS.newRows(count);
  return html`<span
    class="news"
    ${asking}
    hx-swap="none"
    hx-select-oob="${[FRAME_PARTS, ...[NEW_ROWS, ...rows].map((id) => `#${id}:outerMorph`)].join()}"
  >
    <a href="" id="${NEW_ROWS}" class="new-rows" ${count === 0 ? html`hidden` : ""}>${text}</a>
  </span>`;
}

/** The updates of a list with these items, newest first; `rows` are the ids of rows that can change. */
export function listUpdatesOf<Item>(
  { query }: Pick<View, "query">,
  shown: readonly Item[],
  {
    positionOf,
    rows = [],
  }: { readonly positionOf: (item: Item) => number; readonly rows?: readonly string[] },
): ListUpdates {
  const seen = query.get(SEEN_PARAMETER);
  const [newest] = shown;
  // Only a page that asks again gets the number, which needs a look-up of each position.
  const count = seen === null ? 0 : shown.filter((item) => positionOf(item) > Number(seen)).length;
  return { newest: newest === undefined ? 0 : positionOf(newest), count, rows };
}

function streamAddress(live: LiveTopic, storeId: string, since: string): string {
  const id = "id" in live ? `&id=${live.id}` : "";
  return `/portal/${storeId}/live?topic=${live.kind}${id}&since=${since}`;
}
