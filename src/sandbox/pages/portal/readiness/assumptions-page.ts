import { ASSUMPTIONS } from "../../../../core/calibration/assumptions.ts";
import { verdictOn, verdictsOf, type Calibration } from "../../../../core/calibration/calibration.ts";
import type { Dialect } from "../../../../core/shape/dialect.ts";
import { dialectDifferencesOn } from "../../../../core/webhook/dialect-differences.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { html, type Html } from "../../../../web/html.ts";
import { storeTime } from "../../../with-store.ts";
import { storePath } from "../forms.ts";
import { ageHtml, linkButton, emptyListHtml, linkTo, table, type TableRow } from "../parts.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { LAUNCH_TEXTS } from "./texts.ts";

/** Unlike the operation `assumptions`, does not wait for pending uses to be written, so the newest may be missing. */
export async function assumptionsPage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const now = storeTime(context, view.storeId);
  const uses = new Map(
    context.store.assumptionUses.of(view.storeId).map((use) => [use.decision, use.firstAt]),
  );
  const usedAssumptions = ASSUMPTIONS.flatMap((assumption) => {
    const since = uses.get(assumption.decision);
    return since === undefined ? [] : [{ ...assumption, since }];
  });
  const record = await context.calibration();
  const dialect = context.store.stores.dialect(view.storeId);
  const noRows = emptyListHtml(
    LAUNCH_TEXTS.noAssumptions,
    "checkout assumptions --used",
    linkButton(storePath(view, "/connect"), COMMON_TEXTS.connect),
  );
  const rowOf = ({ decision, title, chosen, shownBy, since }: (typeof usedAssumptions)[number]): TableRow => [
    [COMMON_TEXTS.decision, html`${String(decision)} · ${title}`, "head"],
    [LAUNCH_TEXTS.chosen, html`${chosen}`],
    ...(dialect === undefined ? [] : [differencesCell(dialect, decision)]),
    [LAUNCH_TEXTS.shownBy, html`${shownBy ?? ""}`],
    [LAUNCH_TEXTS.first, ageHtml(since, now), "named"],
    ...(record === undefined ? [] : [calibrationCell(record, decision, context.world.now())]),
  ];
  const main = html`<p class="hint">${LAUNCH_TEXTS.assumptionsHint}</p>
    ${calibrationNotice(record, context)}
    ${table({ caption: LAUNCH_TEXTS.assumptions, noRows }, usedAssumptions, rowOf)}
    <p>${linkTo(storePath(view, "/launch"), FRAME_TEXTS.launch)}</p>`;
  return accept({ title: LAUNCH_TEXTS.assumptions, main, liveTopic: "store" });
}

function differencesCell(dialect: Dialect, decision: number): TableRow[number] {
  const differences = dialectDifferencesOn(dialect, decision);
  return [
    LAUNCH_TEXTS.inEffect,
    html`${differences.length === 0 ? LAUNCH_TEXTS.asChosen : differences.join(", ")}`,
  ];
}

/** `now` is real time, because the calibration is dated by the machine's clock. */
function calibrationCell(record: Calibration, decision: number, now: number): TableRow[number] {
  const verdict = verdictOn(record, decision);
  const badge = html`<span class="badge ${TONES[verdict]}">${LAUNCH_TEXTS.verdicts[verdict]}</span>`;
  const cell = verdict === "not_observed" ? badge : html`${badge} ${ageHtml(Date.parse(record.at), now)}`;
  return [LAUNCH_TEXTS.calibration, cell, "named"];
}

const TONES = { confirmed: "good", contradicted: "bad", not_observed: "" } as const;

export function calibrationNotice(record: Calibration | undefined, { world }: PortalContext): Html {
  if (record === undefined) return html``;
  const { confirmed, contradicted, not_observed: unobservedRows } = verdictsOf(record);
  const counts = LAUNCH_TEXTS.verdictCounts([confirmed.length, contradicted.length, unobservedRows.length]);
  return html`<p>
    ${LAUNCH_TEXTS.calibratedWith(record.service)} ${ageHtml(Date.parse(record.at), world.now())} · ${counts}
  </p>`;
}
