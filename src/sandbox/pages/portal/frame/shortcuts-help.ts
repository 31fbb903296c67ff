import { html, type Html, type Texts } from "../../../../web/html.ts";
import type { Words } from "../../../../core/language.ts";

const TEXTS = {
  title: ["Keyboard shortcuts", "快捷键"],
  close: ["Close", "关闭"],
  off: [
    "Shortcuts do not work while a field has the focus. To turn them off, use “This browser” above.",
    "输入框获得焦点时快捷键不起作用。可在上方“此浏览器”中关闭。",
  ],
} satisfies Texts;

const SHORTCUTS: readonly (readonly [keys: readonly string[], effect: Words])[] = [
  [["/"], ["search", "搜索"]],
  [
    ["j", "k"],
    ["next and previous row", "下一行、上一行"],
  ],
  [["Enter"], ["open the row", "打开该行"]],
  [["g c"], ["checkouts", "收款单"]],
  [["g w"], ["webhooks", "Webhook"]],
  [["g r"], ["requests", "请求"]],
  [["g l"], ["launch", "上线"]],
  [["p"], ["pay this checkout", "支付此收款单"]],
  [["r"], ["replay", "重新推送"]],
  [["?"], ["this list", "此列表"]],
];

export function shortcutsHelp(): Html {
  return html`<dialog id="keys" aria-labelledby="keys-title">
    <form method="dialog">
      <h2 id="keys-title">${TEXTS.title}</h2>
      <dl class="facts">
        ${SHORTCUTS.map(
          ([names, effect]) =>
            html`<div>
              <dt>${names.map((name) => html`<kbd>${name}</kbd> `)}</dt>
              <dd>${effect}</dd>
            </div>`,
        )}
      </dl>
      <p class="hint">${TEXTS.off}</p>
      <button>${TEXTS.close}</button>
    </form>
  </dialog>`;
}
