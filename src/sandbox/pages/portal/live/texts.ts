import type { Language } from "../../../../web/language.ts";

/** As many as a list shows: there may be more. */
const MANY = 50;

function manyAs(count: number): string {
  return count < MANY ? String(count) : `${MANY}+`;
}

/** What a page says of itself while it follows what happens, in English. */
const ENGLISH = {
  live: "live",
  lost: "not live",
  crowded: "other windows are live",
  stopped: "the sandbox has stopped",
  signed_out: "signed out",
  gone: "this store was deleted",
  newRows: (count: number): string => `${manyAs(count)} new`,
  changes: (count: number): string => (count === 1 ? "1 change" : `${count} changes`),
};

/** The same in Simplified Chinese. */
const CHINESE: typeof ENGLISH = {
  live: "实时",
  lost: "未实时更新",
  crowded: "其他窗口正在实时更新",
  stopped: "沙盒已停止",
  signed_out: "已退出登录",
  gone: "该商店已删除",
  newRows: (count) => `${manyAs(count)} 条新记录`,
  changes: (count) => `${count} 处更新`,
};

/** The texts of live pages in each language. */
export const LIVE_TEXTS: Readonly<Record<Language, typeof ENGLISH>> = { en: ENGLISH, zh: CHINESE };
