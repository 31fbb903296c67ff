import { COLON } from "../../../../core/language.ts";
import {
  DRILL_KINDS,
  DRILL_NAMES,
  CHECKLIST_RUN_COMMAND,
  type DrillKind,
} from "../../../../core/readiness/names.ts";
import { stepTextWords } from "../../../../core/readiness/drills/said.ts";
import { stepTitle } from "../../../../core/judge/histories/histories.ts";
import { EVIDENCE_VALIDITY_MS } from "../../../../core/readiness/proof.ts";
import { html, type Html } from "../../../../web/html.ts";
import { inputField } from "../fields.ts";
import { formWithConfirmation, storePath } from "../forms.ts";
import { ageHtml, copyableText, momentWithDate, goodOrBadBadge, table } from "../parts.ts";
import type { PortalContext, View } from "../view.ts";
import { COMMON_TEXTS } from "../texts.ts";
import { LAUNCH_TEXTS } from "./texts.ts";
import type { JudgedChecklist, ReadinessFacts } from "../../../../core/readiness/shapes.ts";
import type { DrillFact, DrillStep } from "../../../../core/readiness/drill-shapes.ts";

function lastResults(
  kind: DrillKind,
  { endpoints, duplicatesDrill: duplicates, idempotency, browserReturnDrill }: ReadinessFacts,
): readonly { readonly drill: DrillFact; readonly subject: string }[] {
  const shopDrills = { duplicates, idempotency: idempotency.drill, browser_return: browserReturnDrill };
  const results =
    kind === "webhook"
      ? endpoints.map(({ drill, url }) => ({ drill, subject: url }))
      : [{ drill: shopDrills[kind], subject: "" }];
  return results.flatMap(({ drill, subject }) => (drill === null ? [] : [{ drill, subject }]));
}

export function runningDrillNotices(
  { leases }: Pick<PortalContext, "leases">,
  { storeId }: View,
  { underway, judgedAt: now }: JudgedChecklist,
): Html {
  return html`${underway.map(
    ({ id, since }) =>
      html`<section class="panel running">
        <h2>
          ${LAUNCH_TEXTS.checklist} <span class="badge warn">${LAUNCH_TEXTS.running}</span>
          <span class="hint">${LAUNCH_TEXTS.started} ${ageHtml(since, now)}</span>
        </h2>
        <p>${LAUNCH_TEXTS.heldBack}</p>
        <p>${LAUNCH_TEXTS.retrieved(leases.retrievesOf({ storeId, id }).length)}</p>
      </section>`,
  )}`;
}

export function lastDrillsIn(facts: ReadinessFacts): readonly DrillFact[] {
  return DRILL_KINDS.flatMap((kind) => lastResults(kind, facts).map(({ drill }) => drill));
}

export function drillResults(kind: DrillKind, facts: ReadinessFacts): Html {
  return html`${lastResults(kind, facts).map((result) => drillResult(result, facts.now))}`;
}

export function drillActions(view: View, kind: DrillKind, facts: ReadinessFacts): Html {
  const waiver = facts.waivers.find(
    ({ drill, at }) => drill === kind && facts.now - at < EVIDENCE_VALIDITY_MS,
  );
  return html`<div class="drill" id="drill-${DRILL_NAMES[kind]}">
    <h4>
      ${LAUNCH_TEXTS.drillKinds[kind]}
      ${lastResults(kind, facts).length === 0 ? html`<span class="badge">${LAUNCH_TEXTS.neverRun}</span>` : ""}
      ${waiver === undefined ? "" : html`<span class="badge warn">${LAUNCH_TEXTS.waived}</span>`}
    </h4>
    <p class="hint">${LAUNCH_TEXTS.drillHints[kind]}</p>
    ${
      waiver === undefined
        ? ""
        : html`<p>
            ${waiver.reason} · ${LAUNCH_TEXTS.skippedUntil}
            ${momentWithDate(waiver.at + EVIDENCE_VALIDITY_MS)}
          </p>`
    }
    <div class="actions">
      <details>
        <summary>${LAUNCH_TEXTS.needsShell}</summary>
        <p>${copyableText("checkout shop init")}</p>
        <p>${copyableText(CHECKLIST_RUN_COMMAND)}</p>
      </details>
      ${waiver === undefined ? waiveForm(view, kind) : ""}
    </div>
  </div>`;
}

function drillResult({ drill, subject }: ReturnType<typeof lastResults>[number], now: number): Html {
  const { kind, passed, steps, at } = drill;
  const passedSteps = steps.filter((step) => step.passed);
  const failedList = steps.filter((step) => !step.passed);
  const renderSteps: RenderSteps = (
    shownSteps,
    { hasCause = shownSteps.some(({ cause }) => cause !== null) } = {},
  ) =>
    table({ caption: html`${LAUNCH_TEXTS.drillKinds[kind]} ${subject}` }, shownSteps, (step) => [
      [
        LAUNCH_TEXTS.step,
        html`${goodOrBadBadge(step.passed, LAUNCH_TEXTS.ok, LAUNCH_TEXTS.drillFailed)}
        ${stepTitle(kind, step.name)}`,
        "head",
      ],
      [COMMON_TEXTS.expected, stepTextWords(step.expected), "named"],
      [COMMON_TEXTS.got, stepTextWords(step.got), "named"],
      ...(hasCause ? ([[COMMON_TEXTS.cause, stepTextWords(step.cause ?? "")]] as const) : []),
    ]);
  const passedText = LAUNCH_TEXTS.steps(passedSteps.length, steps.length);
  return html`<details class="result">
    <summary>
      ${goodOrBadBadge(passed, LAUNCH_TEXTS.drillPassed, LAUNCH_TEXTS.drillFailed)}
      ${subject === "" ? LAUNCH_TEXTS.drillKinds[kind] : html`<span title="${subject}">${subject.replace(/^https?:\/\//, "")}</span>`}${COLON}${passedText}
      · ${ageHtml(at, now)}
    </summary>
    ${
      failedList.length === 0
        ? renderSteps(passedSteps)
        : html`${failedSteps(kind, failedList, renderSteps)}
            <details>
              <summary>${LAUNCH_TEXTS.heldSteps(passedSteps.length)}</summary>
              ${renderSteps(passedSteps)}
            </details>`
    }
  </details>`;
}

type RenderSteps = (steps: readonly DrillStep[], columns?: { readonly hasCause?: boolean }) => Html;

const MAX_STEPS_PER_CAUSE = 3;

function failedSteps(kind: DrillKind, failedList: readonly DrillStep[], renderSteps: RenderSteps): Html {
  const stepGroups = [...Map.groupBy(failedList, ({ cause }) => JSON.stringify(cause)).values()];
  const singleSteps = stepGroups.filter(({ length }) => length === 1).flat();
  const stepsByCause = stepGroups.filter(({ length }) => length > 1);
  return html`${stepsByCause.map((steps) => {
    const cause = stepTextWords(steps[0]?.cause ?? "");
    const otherSteps = steps
      .slice(MAX_STEPS_PER_CAUSE)
      .map(({ name }, index) => html`${index === 0 ? "" : " · "}${stepTitle(kind, name)}`);
    return html`<details class="cause">
      <summary><strong>${LAUNCH_TEXTS.failedSteps(steps.length)}</strong> ${cause}</summary>
      ${renderSteps(steps.slice(0, MAX_STEPS_PER_CAUSE), { hasCause: false })}
      ${otherSteps.length === 0 ? "" : html`<p class="hint">${LAUNCH_TEXTS.alsoFailed} ${otherSteps}</p>`}
    </details>`;
  })}
  ${singleSteps.length === 0 ? "" : renderSteps(singleSteps)}`;
}

function waiveForm(view: View, kind: DrillKind): Html {
  const { waive, waiveHint, waiveNow } = LAUNCH_TEXTS;
  return formWithConfirmation(view, [waive, waiveHint, waiveNow], {
    action: storePath(view, "/launch/waivers"),
    fields: { drill: kind },
    content: (typedForm) => inputField(LAUNCH_TEXTS.reason, "reason", { required: true, typedForm }),
    style: "",
  });
}
