import { html, type Html, type Texts } from "../../../../web/html.ts";
import type { ListUpdates, View } from "../view.ts";

export const SEEN_PARAMETER = "seen";

const MAX_COUNTED_ROWS = 50;

const LIVE_TEXTS = {
  states: {
    live: ["live", "实时"],
    lost: ["not live", "未实时更新"],
    silent: ["no answer", "无响应"],
    signed_out: ["signed out", "已退出登录"],
    gone: ["gone", "已不存在"],
  },
  endings: {
    silent: [
      "The sandbox does not answer. This page shows its last state, and updates when the sandbox answers again.",
      "沙箱没有响应，此页面显示的是最后的状态；沙箱恢复响应后会自动更新。",
    ],
    signed_out: [
      "This browser was signed out, so this page no longer updates. To sign in again, run checkout open.",
      "此浏览器已退出登录，此页面不再更新。运行 checkout open 可重新登录。",
    ],
    gone: [
      "This page no longer exists in the sandbox. It shows its last state.",
      "沙箱中已没有此页面，此处显示的是最后的状态。",
    ],
  },
  again: ["Reload", "重新加载"],
  newRows: (count: string) => [`${count} new`, `${count} 条新记录`],
  changed: ["The page has changed.", "页面已更新。"],
} satisfies Texts;

export function pagePollAttributes(listUpdates: ListUpdates | undefined, view: View): Html {
  return listUpdates === undefined ? pollAttributes(view, "page", view.call) : html``;
}

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

export function liveStatusHtml(listUpdates: ListUpdates | undefined, view: View): Html {
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

/** Polls update rows in place and only count new ones, so that the list does not move while someone reads it. */
function newRows(view: View, { newestPosition, count, rowIds }: ListUpdates): Html {
  const countText = count < MAX_COUNTED_ROWS ? String(count) : `${MAX_COUNTED_ROWS}+`;
  const pollQuery = new URLSearchParams(view.query);
  if (!pollQuery.has(SEEN_PARAMETER)) pollQuery.set(SEEN_PARAMETER, String(newestPosition));
  return html`<span id="news" ${pollAttributes(view, "news", { query: pollQuery.toString(), rowIds })}>
    <a href="" id="new-rows" class="new-rows" ${count === 0 ? html`hidden` : ""}
      >${count === 0 ? "" : LIVE_TEXTS.newRows(countText)}</a
    >
  </span>`;
}
