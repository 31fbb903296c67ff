import { toIso } from "../../../../core/clock.ts";
import { describeLastChange, lastChangeText } from "../../../../core/explain/last.ts";
import { translatorFor } from "../../../../core/language.ts";
import { html, type Html } from "../../../../web/html.ts";
import type { AnswerOf } from "../../../../core/control/operations.ts";
import { inBothLanguages } from "../../../../core/language.ts";
import { storeTime } from "../../../with-store.ts";
import { lastChangeOf } from "../../../checkout/list.ts";
import type { ActionContext } from "../route.ts";
import { COMMON_TEXTS } from "../texts.ts";
import type { Notice, View } from "../view.ts";
import { CHECKOUTS_TEXTS } from "./texts.ts";
import type { LastChange } from "../../../../core/checkout/shapes.ts";

export function lastChangeHtml({ language }: Pick<View, "language">, change: LastChange, now: number): Html {
  const say = translatorFor(language);
  const text = describeLastChange(change, say);
  return html`<span class="last"
    >${text === "" ? "" : html`· ${text} `}·
    <span class="hint" title="${toIso(change.at)}">${lastChangeText(change, now, say)}</span></span
  >`;
}

export function paidNotice({ id, status, late }: AnswerOf<"pay">, { context, view }: ActionContext): Notice {
  const { store } = context;
  const at = toIso(storeTime(context, view.storeId));
  const checkout = store.checkouts.find(view.storeId, id);
  const words = inBothLanguages((say) => {
    const changeText = checkout === undefined ? "" : describeLastChange(lastChangeOf(store, checkout), say);
    return `${say(CHECKOUTS_TEXTS.done(at))}${say(COMMON_TEXTS.statuses[status])}${changeText === "" ? "" : ` · ${changeText}`}`;
  });
  return { words, tone: late ? "warn" : "good" };
}
