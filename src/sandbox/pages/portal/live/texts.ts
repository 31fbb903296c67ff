import type { Texts } from "../../../../web/html.ts";

/** As many as a list shows: there may be more. */
const MANY = 50;

function manyAs(count: number): string {
  return count < MANY ? String(count) : `${MANY}+`;
}

/** The texts of live pages in each language. */
export const TEXTS = {
  live: ["live", "实时"],
  lost: ["not live", "未实时更新"],
  crowded: ["other windows are live", "其他窗口正在实时更新"],
  stopped: ["the sandbox has stopped", "沙盒已停止"],
  signed_out: ["signed out", "已退出登录"],
  gone: ["this store was deleted", "该商店已删除"],
  newRows: (count: number) => [`${manyAs(count)} new`, `${manyAs(count)} 条新记录`],
  changes: (count: number) => [count === 1 ? "1 change" : `${count} changes`, `${count} 处更新`],
} satisfies Texts;
