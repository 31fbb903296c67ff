import type { Texts } from "../../../../web/html.ts";

/** The number of new rows from which a list shows only `50+`. */
const MAX_COUNTED_ROWS = 50;

function countText(count: number): string {
  return count < MAX_COUNTED_ROWS ? String(count) : `${MAX_COUNTED_ROWS}+`;
}

/** The texts of live pages in each language. */
export const LIVE_TEXTS = {
  states: {
    live: ["live", "实时"],
    lost: ["not live", "未实时更新"],
    crowded: ["other windows are live", "其他窗口正在实时更新"],
    stopped: ["the sandbox has stopped", "沙箱已停止"],
    signed_out: ["signed out", "已退出登录"],
    gone: ["this store was deleted", "该商店已删除"],
  },
  endings: {
    stopped: [
      "The sandbox has stopped. This page shows its last state.",
      "沙箱已停止：此页面显示的是停止前的状态。",
    ],
    signed_out: [
      "This browser was signed out, so this page no longer updates. To sign in again, run checkout open.",
      "此浏览器已退出登录：页面不再更新。运行 checkout open 可重新登录。",
    ],
    gone: [
      "This store was deleted. This page shows its last state.",
      "该商店已删除：此页面显示的是删除前的状态。",
    ],
  },
  again: ["Reload", "重新加载"],
  newRows: (count: number) => [`${countText(count)} new`, `${countText(count)} 条新记录`],
  changes: (count: number) => [count === 1 ? "1 change" : `${count} changes`, `${count} 处更新`],
} satisfies Texts;
