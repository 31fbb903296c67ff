import { STATUS_OF } from "../../core/errors.ts";
import type { Refusal } from "../../core/outcome.ts";
import { html } from "../../web/html.ts";
import { layout } from "./layout.ts";
import type { Texts } from "./texts.ts";

/** A refusal as a person reads it; the exact reason stays in English, as in the API. */
export function errorPage(texts: Texts, refusal: Refusal): string {
  const titles: Readonly<Record<number, string>> = texts.errorTitle;
  const title = titles[STATUS_OF[refusal.code]] ?? texts.errorTitle[400];
  const main = html`<main id="page" class="single">
    <section class="card">
      <h1>${title}</h1>
      <p class="hint">${texts.errorHint}</p>
      <p class="notice warn" lang="en">${refusal.message}</p>
    </section>
  </main>`;
  return layout(texts, { title, main });
}
