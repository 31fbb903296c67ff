import type { Asset } from "../../../../web/asset.ts";
import { html, type Html } from "../../../../web/html.ts";
import { LIVE_SCRIPT, SSE_SCRIPT } from "../assets.ts";
import type { LiveTopic, View } from "../view.ts";
import { sinceOf } from "./news.ts";
import { END_EVENT } from "./stream.ts";
import { LIVE_TEXTS } from "./texts.ts";

/** How many times a stream that was cut is asked for again: few, because its sandbox was probably stopped. */
const CONFIG = JSON.stringify({ sse: { reconnectMaxAttempts: 5 } });

/** The scripts of a live page, behind htmx. */
export function liveScripts(live: LiveTopic | undefined): readonly Asset[] {
  return live === undefined ? [] : [SSE_SCRIPT, LIVE_SCRIPT];
}

/** What of the frame is shown anew with a page: its numbers, and the clock of the store. */
const FRAME_PARTS = "#menu:outerMorph,#clock:outerMorph";

/** Attributes of `main#page`: a page that is not a list is shown anew in place when it has changed. */
export function liveAttributes(live: LiveTopic | undefined, view: View): Html {
  if (live === undefined || isList(live) || view.shownOnce !== undefined) return html``;
  return html`${askAgain(view, "changed")} hx-select="#page" hx-swap="outerMorph"`;
}

/** Attributes of what asks for the page again at a message of the stream, and shows the parts of the frame anew. */
function askAgain({ call: { path, query } }: View, message: "changed" | "new"): Html {
  return html` hx-get="${path}${query === "" ? "" : `?${query}`}" hx-trigger="${message} from:#live"
  hx-select-oob="${FRAME_PARTS}"`;
}

/**
 * The mark in the bar that says whether the page is live. It holds the stream, outside of what is shown anew. A list has
 * its news beside it: a link to itself, because it never moves while somebody reads it.
 */
export function liveMark(live: LiveTopic | undefined, view: View): Html {
  const { position } = view;
  if (live === undefined || position === undefined || view.shownOnce !== undefined) return html``;
  const texts = LIVE_TEXTS[view.language];
  const said = Object.entries(texts).flatMap(([state, text]) =>
    typeof text === "string" ? [html`<span data-when="${state}">${text}</span>`] : [],
  );
  const news = isList(live)
    ? html`<span id="news" class="news" role="status" ${askAgain(view, "new")} hx-swap="none">
        <a href="" class="new-rows" hidden></a>
      </span>`
    : html`<span id="news" class="visually-hidden" role="status"></span>`;
  return html`<span
      id="live"
      class="live"
      hidden
      hx-sse:connect="${streamAddress(live, view.storeId, sinceOf(live.kind, position))}"
      hx-sse:close="${END_EVENT}"
      hx-trigger="never"
      hx-config="${CONFIG}"
      >${said}</span
    >
    ${news}`;
}

function isList({ kind }: LiveTopic): boolean {
  return kind === "checkouts" || kind === "requests";
}

function streamAddress(live: LiveTopic, storeId: string, since: string): string {
  const id = "id" in live ? `&id=${live.id}` : "";
  return `/portal/${storeId}/live?topic=${live.kind}${id}&since=${since}`;
}
