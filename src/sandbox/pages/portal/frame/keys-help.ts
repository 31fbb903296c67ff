import { html, type Html } from "../../../../web/html.ts";
import type { Language } from "../../../../web/language.ts";

const ENGLISH = {
  title: "Keys",
  close: "Close",
  keys: [
    [["/"], "search"],
    [["j", "k"], "next and previous row"],
    [["Enter"], "open the row"],
    [["g c"], "checkouts"],
    [["g w"], "webhooks"],
    [["g r"], "requests"],
    [["g l"], "launch"],
    [["p"], "pay this checkout"],
    [["r"], "replay"],
    [["?"], "this list"],
  ] as readonly (readonly [keys: readonly string[], does: string])[],
  off: "No key does anything while a field has the focus. “This browser” above switches them off.",
};

const CHINESE: typeof ENGLISH = {
  title: "快捷键",
  close: "关闭",
  keys: [
    [["/"], "搜索"],
    [["j", "k"], "下一行、上一行"],
    [["Enter"], "打开该行"],
    [["g c"], "订单"],
    [["g w"], "Webhook"],
    [["g r"], "请求"],
    [["g l"], "上线"],
    [["p"], "支付此订单"],
    [["r"], "重放"],
    [["?"], "此列表"],
  ],
  off: "输入框获得焦点时快捷键不起作用。可在上方“此浏览器”中关闭。",
};

const TEXTS: Readonly<Record<Language, typeof ENGLISH>> = { en: ENGLISH, zh: CHINESE };

/** The list of all keys, which `?` opens. */
export function keysHelp(language: Language): Html {
  const { title, close, keys, off } = TEXTS[language];
  return html`<dialog id="keys" aria-labelledby="keys-title">
    <form method="dialog">
      <h2 id="keys-title">${title}</h2>
      <dl class="facts">
        ${keys.map(
          ([names, does]) =>
            html`<div>
              <dt>${names.map((name) => html`<kbd>${name}</kbd> `)}</dt>
              <dd>${does}</dd>
            </div>`,
        )}
      </dl>
      <p class="hint">${off}</p>
      <button>${close}</button>
    </form>
  </dialog>`;
}
