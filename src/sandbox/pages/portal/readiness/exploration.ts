import { READINESS_SENTENCES } from "../../../../core/readiness/sentences.ts";
import { html, type Html } from "../../../../web/html.ts";
import { ageOf, table } from "../parts.ts";
import { LAUNCH_TEXTS } from "./texts.ts";
import type { JudgedChecklist } from "../../../../core/readiness/shapes.ts";

/** The last exploration of the store, with the results at each place; empty if there was none. */
export function explorationPart({ exploration, judgedAt }: JudgedChecklist): Html {
  if (exploration === null) return html``;
  const { places, at } = exploration;
  const names = (actions: readonly string[]): string => (actions.length === 0 ? "–" : actions.join(", "));
  return html`<section class="explored">
    <h3>${READINESS_SENTENCES.explored(exploration)} <span class="hint">${ageOf(at, judgedAt)}</span></h3>
    ${table(LAUNCH_TEXTS.places, places, ({ place, held, broken: breaking, notJudged }) => [
      [LAUNCH_TEXTS.place, place, "head", "english"],
      [LAUNCH_TEXTS.held, String(held.length), "number"],
      [LAUNCH_TEXTS.broke, names(breaking), "english"],
      [LAUNCH_TEXTS.notJudged, names(notJudged), "english"],
    ])}
  </section>`;
}
