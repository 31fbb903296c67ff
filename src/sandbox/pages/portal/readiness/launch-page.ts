import { COLON, translatorFor } from "../../../../core/language.ts";
import { isGateOpen, isProductionRequested } from "../../../../core/readiness/admin-action.ts";
import { judgeStoreReadiness } from "../../../readiness/facts.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { html, type Html } from "../../../../web/html.ts";
import { languageTagOf } from "../../../../web/language.ts";
import { inputField } from "../fields.ts";
import { actionForm, storePath } from "../forms.ts";
import { ageHtml, copyableText, table, textWithMoments, linkTo } from "../parts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { drillActions, drillResults, lastDrillsIn, runningDrillNotices } from "./drills.ts";
import { ITEM_TITLES, type DrillKind, type ItemName } from "../../../../core/readiness/names.ts";
import { READINESS_SENTENCES } from "../../../../core/readiness/sentences.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import { calibrationNotice } from "./assumptions-page.ts";
import { LAUNCH_TEXTS } from "./texts.ts";
import {
  countNotJudged,
  type ChecklistItem,
  type Evidence,
  type JudgedChecklist,
  type ReadinessFacts,
} from "../../../../core/readiness/shapes.ts";
import type { DrillFact } from "../../../../core/readiness/drill-shapes.ts";

export async function launchPage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const judgement = judgeStoreReadiness(context, view.storeId, translatorFor(view.language));
  if (!judgement.ok) return judgement;
  const { facts, checklist: shownChecklist } = judgement.value;
  const { store } = context;
  const assumptionCount = store.assumptionUses.of(view.storeId).length;
  const main = html`${runningDrillNotices(context, view, shownChecklist)}
    ${checklistSection(view, shownChecklist, facts)} ${explorationPart(shownChecklist)}
    <p>
      ${linkTo(storePath(view, "/launch/assumptions"), LAUNCH_TEXTS.assumptionsCount(assumptionCount))}
      <span class="hint">${LAUNCH_TEXTS.assumptionsShort}</span>
    </p>
    ${calibrationNotice(await context.calibration(), context)}`;
  return accept({ title: FRAME_TEXTS.launch, main, liveTopic: "store" });
}

function explorationPart({ exploration, judgedAt }: JudgedChecklist): Html {
  if (exploration === null) return html``;
  const { schedules, broken, places, at } = exploration;
  const exploredText = READINESS_SENTENCES.explored(schedules, broken, countNotJudged(places));
  const joinNames = (actions: readonly string[]): string => (actions.length === 0 ? "–" : actions.join(", "));
  return html`<section class="explored">
    <h3>${exploredText} <span class="hint">${ageHtml(at, judgedAt)}</span></h3>
    ${table({ caption: LAUNCH_TEXTS.places }, places, ({ place, held, broken: brokenActions, notJudged }) => [
      [LAUNCH_TEXTS.place, place, "head", "english"],
      [LAUNCH_TEXTS.held, String(held.length), "number"],
      [LAUNCH_TEXTS.broke, joinNames(brokenActions), "english"],
      [LAUNCH_TEXTS.notJudged, joinNames(notJudged), "english"],
    ])}
  </section>`;
}

function checklistSection(view: View, { verdict, items }: JudgedChecklist, facts: ReadinessFacts): Html {
  const passedCount = items.filter(({ status }) => status === "pass").length;
  return html`<section>
    <h2 class="visually-hidden">${LAUNCH_TEXTS.checklist}</h2>
    <div class="panel verdict ${verdict}">
      <strong data-told="verdict">${READINESS_SENTENCES.verdict[verdict]}</strong>
      <span>${LAUNCH_TEXTS.passed(passedCount, items.length)}</span>
      <progress max="${String(items.length)}" value="${String(passedCount)}" aria-hidden="true"></progress>
      <span class="hint">${READINESS_SENTENCES.testMode}</span>
    </div>
    <ol class="items panel">
      ${items.map((item) => checklistItem(view, item, facts))}
    </ol>
  </section>`;
}

const DRILLS_BY_ITEM: Readonly<Partial<Record<ItemName, readonly DrillKind[]>>> = {
  return_origins: ["browser_return"],
  webhook_verification: ["webhook", "duplicates"],
  idempotency_replay: ["idempotency"],
};

function checklistItem(view: View, item: ChecklistItem, facts: ReadinessFacts): Html {
  const { name, status, reason, assumptions: risks, next } = item;
  const isDone = status === "pass" && risks.length === 0;
  const kinds = DRILLS_BY_ITEM[name] ?? [];
  const acts =
    name === "production_credential"
      ? productionPart(view, facts)
      : html`${kinds.map((kind) => drillActions(view, kind, facts))}`;
  return html`<li id="${name}" class="item ${status}">
    <div class="told">
      <h3>${ITEM_TITLES[name]} <span class="hint">${LAUNCH_TEXTS.status[status]}</span></h3>
      <p>${textWithMoments(reason)}</p>
      ${risks.map((risk) => html`<p class="risk"><strong>${LAUNCH_TEXTS.risk}</strong> <span>${risk}</span></p>`)}
      ${kinds.map((kind) => drillResults(kind, facts))} ${otherEvidence(view, item, facts)}
      ${isDone ? "" : html`<p>${LAUNCH_TEXTS.next}${COLON}${copyableText(next)}</p>`}
    </div>
    <div class="acts">${acts}</div>
  </li>`;
}

function otherEvidence(view: View, { name, evidence }: ChecklistItem, facts: ReadinessFacts): Html {
  const drills = lastDrillsIn(facts);
  const remainingEvidence = evidence.filter((item) => !drills.some((drill) => isShownBy(drill, item)));
  if (remainingEvidence.length === 0) return html``;
  return html`<details class="evidence-list">
    <summary>${LAUNCH_TEXTS.evidence(remainingEvidence.length)}</summary>
    <ul class="evidence">
      ${remainingEvidence.map(
        ({ what, reference, at }) =>
          html`<li title="${reference ?? ""}">
            ${name === "idempotency_replay" && reference !== null ? linkTo(storePath(view, `/requests/${reference}`), what) : what}
            ${at === null ? "" : html`<span lang="${languageTagOf}">· ${ageHtml(at, facts.now)}</span>`}
          </li>`,
      )}
    </ul>
  </details>`;
}

function isShownBy({ id, at, steps }: DrillFact, evidence: Evidence): boolean {
  const { reference } = evidence;
  return evidence.at === at && (reference === id || steps.some((step) => step.reference === reference));
}

function productionPart(view: View, { production: productionFacts, now }: ReadinessFacts): Html {
  const { request } = productionFacts;
  const isOpen = isGateOpen(productionFacts);
  const hasOpenRequest = isProductionRequested(productionFacts);
  const form = actionForm(view, {
    action: storePath(view, "/launch/production"),
    label: LAUNCH_TEXTS.request,
    content: (typedForm) => inputField(LAUNCH_TEXTS.requestNote, "note", { typedForm }),
    style: "primary",
  });
  const formOrHint = hasOpenRequest ? html`<p class="hint">${LAUNCH_TEXTS.withAdministrator}</p>` : form;
  return html`<h4>${COMMON_TEXTS.production}</h4>
    ${
      request === null
        ? html`<p class="hint">${LAUNCH_TEXTS.notRequested}</p>`
        : html`<p>
            ${LAUNCH_TEXTS.requested} ${ageHtml(request.at, now)}
            ${request.note === null ? "" : html`· ${request.note}`}
          </p>`
    }
    ${isOpen ? html`<p class="hint">${LAUNCH_TEXTS.nothingLeft}</p>` : formOrHint}`;
}
