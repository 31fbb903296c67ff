import type { Texts } from "../../../../web/html.ts";

/** The number of new rows from which a list shows only `50+`. */
const MAX_COUNTED_ROWS = 50;

function countText(count: number): string {
  return count < MAX_COUNTED_ROWS ? String(count) : `${MAX_COUNTED_ROWS}+`;
}

export const LIVE_TEXTS = {
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
  newRows: (count: number) => [`${countText(count)} new`, `${countText(count)} 条新记录`],
  changed: ["The page has changed.", "页面已更新。"],
} satisfies Texts;
