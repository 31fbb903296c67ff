import type { Asset } from "../../../../web/asset.ts";
import { html, type Html } from "../../../../web/html.ts";
import { LIVE_SCRIPT, SSE_SCRIPT } from "../assets.ts";
import type { Content, ListUpdates, LiveTopic, View } from "../view.ts";
import { END_EVENT } from "./stream.ts";
import { TEXTS } from "./texts.ts";
import { sinceOf } from "./watched.ts";

/** How many times a stream that was cut is asked for again: few, because its sandbox was probably stopped. */
const CONFIG = JSON.stringify({ sse: { reconnectMaxAttempts: 5 } });

/** The scripts of a live page, behind htmx. */
export function liveScripts(live: LiveTopic | undefined): readonly Asset[] {
  return live === undefined ? [] : [SSE_SCRIPT, LIVE_SCRIPT];
}

/** A page that follows something, or nothing. */
export type LiveContent = Pick<Content, "live" | "news">;

/** What of the frame is shown anew with a page: its numbers, and the clock of the store. */
const FRAME_PARTS = "#menu:outerMorph,#clock:outerMorph";
/** The link of a list to its new rows. */
const NEW_ROWS = "new-rows";

/** The parameter with which a list that is looked at again says how far it was seen. */
const SEEN = "seen";

/** Attributes of `main#page`: a page that is not a list is shown anew in place when it has changed. */
export function liveAttributes({ live, news }: LiveContent, view: View): Html {
  if (live === undefined || news !== undefined || view.shownOnce !== undefined) return html``;
  return html`${askAgain(view.call)} hx-select="#page" hx-swap="outerMorph" hx-select-oob="${FRAME_PARTS}"`;
}

/** Attributes of what asks for the page again when it has changed. */
function askAgain({ path, query }: Pick<View["call"], "path" | "query">): Html {
  return html` hx-get="${path}${query === "" ? "" : `?${query}`}" hx-trigger="changed from:#live"`;
}

/**
 * The mark in the bar that says whether the page is live. It holds the stream, outside of what is shown anew. A list has
 * its news beside it: a link to itself, because it never moves while somebody reads it.
 */
export function liveMark({ live, news }: LiveContent, view: View): Html {
  const { position } = view;
  if (live === undefined || position === undefined || view.shownOnce !== undefined) return html``;
  const said = Object.entries(TEXTS.states).map(
    ([state, text]) => html`<span data-when="${state}">${text}</span>`,
  );
  return html`<span
      id="live"
      class="live"
      hidden
      hx-sse:connect="${streamAddress(live, view.storeId, sinceOf(live.kind, position))}"
      hx-sse:close="${END_EVENT}"
      hx-trigger="never"
      hx-config="${CONFIG}"
      >${said}</span
    >${endings(view)}
    <span id="changes" class="visually-hidden" role="status"></span>
    ${news === undefined ? "" : newRows(view, news)}`;
}

/** Bars over the page, of which one is shown once the page is of the past. */
function endings({ call }: View): readonly Html[] {
  const address = `${call.path}${call.query === "" ? "" : `?${call.query}`}`;
  return Object.entries(TEXTS.endings).map(
    ([state, text]) =>
      html`<p class="ending" data-ending="${state}" role="alert" hidden>
        ${text} <a href="${state === "gone" ? "/portal" : address}">${TEXTS.again}</a>
      </p>`,
  );
}

/**
 * How many rows a list has that are newer than those shown. It asks for itself, and takes of that this number and the
 * rows that are shown, each in its place: no row comes, goes or moves.
 */
function newRows({ call, query }: View, { newest, count, rows }: ListUpdates): Html {
  const again = new URLSearchParams(query);
  if (!again.has(SEEN)) again.set(SEEN, String(newest));
  const asking = askAgain({ path: call.path, query: again.toString() });
  const text = count === 0 ? "" : TEXTS.newRows(count);
  return html`<span
    class="news"
    ${asking}
    hx-swap="none"
    hx-select-oob="${[FRAME_PARTS, ...[NEW_ROWS, ...rows].map((id) => `#${id}:outerMorph`)].join()}"
  >
    <a href="" id="${NEW_ROWS}" class="new-rows" ${count === 0 ? html`hidden` : ""}>${text}</a>
  </span>`;
}

/** What is new in a list that shows these, newest first; `rows` are the ids of rows that change. */
export function newsOf<Item>(
  { query }: Pick<View, "query">,
  shown: readonly Item[],
  { placeOf, rows = [] }: { readonly placeOf: (item: Item) => number; readonly rows?: readonly string[] },
): ListUpdates {
  const seen = query.get(SEEN);
  const [newest] = shown;
  // Only a page that asks again is told how many, and looks each place up.
  const count = seen === null ? 0 : shown.filter((item) => placeOf(item) > Number(seen)).length;
  return { newest: newest === undefined ? 0 : placeOf(newest), count, rows };
}

function streamAddress(live: LiveTopic, storeId: string, since: string): string {
  const id = "id" in live ? `&id=${live.id}` : "";
  return `/portal/${storeId}/live?topic=${live.kind}${id}&since=${since}`;
}
