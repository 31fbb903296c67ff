import { isApproved, isGateOpen, isRequested } from "../../../../core/readiness/admin-act.ts";
import { ASSUMPTIONS } from "../../../../core/readiness/assumptions.ts";
import { judgeStore } from "../../../readiness/facts.ts";
import type {
  ChecklistItem,
  JudgedChecklist,
  ReadinessFacts,
  Evidence,
} from "../../../../core/control/readiness.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { html, type Html } from "../../../../web/html.ts";
import { LANGUAGE_TAGS } from "../../../../web/language.ts";
import { field } from "../fields.ts";
import { actForm, storePath } from "../forms.ts";
import { ago, copyable, either, empty, facts, inWords, named, table } from "../parts.ts";
import type { Content, PortalContext, View } from "../view.ts";
import { drillSections, ranLines, runningDrills } from "./drills.ts";
import { LAUNCH_TEXTS } from "./texts.ts";

/** Whether the store can go live: the items with their evidence, the drills, and what production still needs. */
export async function launchPage(context: PortalContext, view: View): Promise<Outcome<Content>> {
  const judged = judgeStore(context, view.storeId);
  if (!judged.ok) return judged;
  const { facts: known, checklist: shown } = judged.value;
  const texts = LAUNCH_TEXTS[view.language];
  const main = html`${ranLines(view)} ${runningDrills(context, view, known)} ${checklist(view, shown)}
    ${production(view, known)}
    <section>
      <h2>${texts.drills}</h2>
      <div class="drills">${drillSections(view, known)}</div>
    </section>
    ${assumptions(context, view, known.now)}`;
  return accept({ title: texts.title, main, live: { kind: "store" } });
}

function checklist(view: View, { verdict, items, judgedAt }: JudgedChecklist): Html {
  const texts = LAUNCH_TEXTS[view.language];
  const passed = items.filter(({ status }) => status === "pass").length;
  return html`<section>
    <h2 class="visually-hidden">${texts.checklist}</h2>
    <div class="panel verdict ${verdict}">
      <strong>${texts.verdict[verdict]}</strong> <span>${texts.passed(passed, items.length)}</span>
      <progress max="${String(items.length)}" value="${String(passed)}" aria-hidden="true"></progress>
      <span class="hint">${texts.testMode}</span>
    </div>
    <ol class="items panel">
      ${items.map((item) => itemOf(view, item, judgedAt))}
    </ol>
  </section>`;
}

/** Reasons and evidence are in English in every language, as in the report. */
function itemOf(view: View, item: ChecklistItem, now: number): Html {
  const { name, status, reason, evidence, assumptions: risks, next } = item;
  const texts = LAUNCH_TEXTS[view.language];
  const isOpen = status === "pass" && risks.length === 0;
  return html`<li id="${name}" class="item ${status}">
    <h3>${texts.items[name]} <span class="hint">${texts.status[status]}</span></h3>
    <p lang="en">${inWords(reason)}</p>
    ${risks.map(
      (risk) => html`<p class="risk"><strong>${texts.risk}</strong> <span lang="en">${risk}</span></p>`,
    )}
    ${evidence.length === 0 ? "" : evidenceList(view, evidence, now)}
    ${isOpen ? "" : html`<p>${texts.next}: ${copyable(next)}</p>`}
  </li>`;
}

function evidenceList(view: View, evidence: readonly Evidence[], now: number): Html {
  const texts = LAUNCH_TEXTS[view.language];
  return html`<ul class="evidence" aria-label="${texts.evidence}" lang="en">
    ${evidence.map(
      ({ what, reference, at }) =>
        html`<li>
          ${what} ${reference === null ? "" : html`· <code>${reference}</code>`}
          ${at === null ? "" : html`<span lang="${LANGUAGE_TAGS[view.language]}">· ${ago(view, at, now)}</span>`}
        </li>`,
    )}
  </ul>`;
}

function production(view: View, { production: known, now }: ReadinessFacts): Html {
  const texts = LAUNCH_TEXTS[view.language];
  const { request } = known;
  const isOpen = isGateOpen(known);
  const isAsked = isRequested(known);
  const asked =
    request === null
      ? []
      : [
          [
            texts.requested,
            html`${ago(view, request.at, now)} ${request.note === null ? "" : html`· ${request.note}`}`,
          ] as const,
        ];
  const form = actForm(view, {
    action: storePath(view, "/launch/production"),
    label: texts.request,
    content: field(texts.requestNote, "note"),
    style: "primary",
  });
  const left = isAsked ? html`<p class="hint">${texts.withAdministrator}</p>` : form;
  return html`<section class="panel">
    <h2>${texts.production}</h2>
    ${request === null ? html`<p class="hint">${texts.notRequested}</p>` : ""}
    ${facts([
      ...asked,
      [texts.credential, either(isApproved(known), texts.approved, texts.notApproved)],
      [texts.gate, either(isOpen, texts.open, texts.closed)],
    ])}
    ${isOpen ? html`<p class="hint">${texts.nothingLeft}</p>` : left}
  </section>`;
}

/** Read as they are on disk: the operation would first write those that are waiting, and a look changes nothing. */
function assumptions({ store }: Pick<PortalContext, "store">, view: View, now: number): Html {
  const texts = LAUNCH_TEXTS[view.language];
  const uses = new Map(store.assumptionUses.of(view.storeId).map((use) => [use.decision, use.firstAt]));
  const rows = ASSUMPTIONS.flatMap(({ decision, title, chosen, shownBy }) => {
    const since = uses.get(decision);
    if (since === undefined) return [];
    return [
      html`<tr>
        <th scope="row">${String(decision)} · <span lang="en">${title}</span></th>
        <td lang="en">${chosen}</td>
        <td lang="en">${shownBy ?? ""}</td>
        <td>${named(texts.first, ago(view, since, now))}</td>
      </tr>`,
    ];
  });
  return html`<section>
    <h2>${texts.assumptions}</h2>
    <p class="hint">${texts.assumptionsHint}</p>
    ${
      rows.length === 0
        ? empty(texts.noAssumptions, "checkout assumptions --used")
        : table(texts.assumptions, [texts.decision, texts.chosen, texts.shownBy, texts.first], rows)
    }
  </section>`;
}
