import { saying } from "../../../../core/language.ts";
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
import { tagOf } from "../../../../web/language.ts";
import { field } from "../fields.ts";
import { actForm, storePath } from "../forms.ts";
import { ago, copyable, either, empty, facts, inWords, table, type Row } from "../parts.ts";
import type { Content, PortalContext, View } from "../view.ts";
import { drillSections, ranLines, runningDrills } from "./drills.ts";
import { ITEM_TITLES } from "../../../../core/readiness/names.ts";
import { READINESS } from "../../../../core/readiness/sentences.ts";
import { FRAME_TEXTS, WORDS } from "../texts.ts";
import { TEXTS } from "./texts.ts";

/** Whether the store can go live: the items with their evidence, the drills, and what production still needs. */
export async function launchPage(context: PortalContext, view: View): Promise<Outcome<Content>> {
  const judged = judgeStore(context, view.storeId, saying(view.language));
  if (!judged.ok) return judged;
  const { facts: known, checklist: shown } = judged.value;
  const main = html`${ranLines(view)} ${runningDrills(context, view, known)} ${checklist(shown)}
    ${production(view, known)}
    <section>
      <h2>${TEXTS.drills}</h2>
      <div class="drills">${drillSections(view, known)}</div>
    </section>
    ${assumptions(context, view, known.now)}`;
  return accept({ title: FRAME_TEXTS.launch, main, live: { kind: "store" } });
}

function checklist({ verdict, items, judgedAt }: JudgedChecklist): Html {
  const passed = items.filter(({ status }) => status === "pass").length;
  return html`<section>
    <h2 class="visually-hidden">${TEXTS.checklist}</h2>
    <div class="panel verdict ${verdict}">
      <strong>${READINESS.verdict[verdict]}</strong> <span>${TEXTS.passed(passed, items.length)}</span>
      <progress max="${String(items.length)}" value="${String(passed)}" aria-hidden="true"></progress>
      <span class="hint">${READINESS.testMode}</span>
    </div>
    <ol class="items panel">
      ${items.map((item) => itemOf(item, judgedAt))}
    </ol>
  </section>`;
}

function itemOf(item: ChecklistItem, now: number): Html {
  const { name, status, reason, evidence, assumptions: risks, next } = item;
  const isOpen = status === "pass" && risks.length === 0;
  return html`<li id="${name}" class="item ${status}">
    <h3>${ITEM_TITLES[name]} <span class="hint">${TEXTS.status[status]}</span></h3>
    <p>${inWords(reason)}</p>
    ${risks.map((risk) => html`<p class="risk"><strong>${TEXTS.risk}</strong> <span>${risk}</span></p>`)}
    ${evidence.length === 0 ? "" : evidenceList(evidence, now)}
    ${isOpen ? "" : html`<p>${TEXTS.next}: ${copyable(next)}</p>`}
  </li>`;
}

function evidenceList(evidence: readonly Evidence[], now: number): Html {
  return html`<ul class="evidence" aria-label="${TEXTS.evidence}">
    ${evidence.map(
      ({ what, reference, at }) =>
        html`<li>
          ${what} ${reference === null ? "" : html`· <code>${reference}</code>`}
          ${at === null ? "" : html`<span lang="${tagOf}">· ${ago(at, now)}</span>`}
        </li>`,
    )}
  </ul>`;
}

function production(view: View, { production: known, now }: ReadinessFacts): Html {
  const { request } = known;
  const isOpen = isGateOpen(known);
  const isAsked = isRequested(known);
  const form = actForm(view, {
    action: storePath(view, "/launch/production"),
    label: TEXTS.request,
    content: field(TEXTS.requestNote, "note"),
    style: "primary",
  });
  const left = isAsked ? html`<p class="hint">${TEXTS.withAdministrator}</p>` : form;
  return html`<section class="panel">
    <h2>${WORDS.production}</h2>
    ${request === null ? html`<p class="hint">${TEXTS.notRequested}</p>` : ""}
    ${facts([
      request && [
        TEXTS.requested,
        html`${ago(request.at, now)} ${request.note === null ? "" : html`· ${request.note}`}`,
      ],
      [WORDS.credential, either(isApproved(known), WORDS.approved, WORDS.notApproved)],
      [WORDS.gate, either(isOpen, WORDS.open, WORDS.closed)],
    ])}
    ${isOpen ? html`<p class="hint">${TEXTS.nothingLeft}</p>` : left}
  </section>`;
}

/** Read as they are on disk: the operation would first write those that are waiting, and a look changes nothing. */
function assumptions({ store }: Pick<PortalContext, "store">, view: View, now: number): Html {
  const uses = new Map(store.assumptionUses.of(view.storeId).map((use) => [use.decision, use.firstAt]));
  const used = ASSUMPTIONS.flatMap((one) => {
    const since = uses.get(one.decision);
    return since === undefined ? [] : [{ ...one, since }];
  });
  const none = empty(TEXTS.noAssumptions, "checkout assumptions --used");
  const rowOf = ({ decision, title, chosen, shownBy, since }: (typeof used)[number]): Row => [
    [WORDS.decision, html`${String(decision)} · ${title}`, "head"],
    [TEXTS.chosen, html`${chosen}`],
    [TEXTS.shownBy, html`${shownBy ?? ""}`],
    [TEXTS.first, ago(since, now), "named"],
  ];
  return html`<section>
    <h2>${TEXTS.assumptions}</h2>
    <p class="hint">${TEXTS.assumptionsHint}</p>
    ${table(TEXTS.assumptions, used, rowOf, { none })}
  </section>`;
}
