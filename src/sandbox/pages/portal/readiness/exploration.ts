import { READINESS_SENTENCES } from "../../../../core/readiness/sentences.ts";
import { countNotJudged } from "../../../../core/readiness/exploration.ts";
import { html, type Html } from "../../../../web/html.ts";
import { ageOf, table } from "../parts.ts";
import { LAUNCH_TEXTS } from "./texts.ts";
import type { JudgedChecklist } from "../../../../core/readiness/shapes.ts";

/** The last exploration of the store, with the results at each place; empty if there was none. */
export function explorationPart({ exploration, judgedAt }: JudgedChecklist): Html {
  if (exploration === null) return html``;
  const { schedules, broken, places, at } = exploration;
  const told = READINESS_SENTENCES.explored(schedules, broken, countNotJudged(places));
  const names = (actions: readonly string[]): string => (actions.length === 0 ? "–" : actions.join(", "));
  return html`<section class="explored">
    <h3>${told} <span class="hint">${ageOf(at, judgedAt)}</span></h3>
    ${table(LAUNCH_TEXTS.places, places, ({ place, held, broken: breaking, notJudged }) => [
      [LAUNCH_TEXTS.place, place, "head", "english"],
      [LAUNCH_TEXTS.held, String(held.length), "number"],
      [LAUNCH_TEXTS.broke, names(breaking), "english"],
      [LAUNCH_TEXTS.notJudged, names(notJudged), "english"],
    ])}
  </section>`;
}
