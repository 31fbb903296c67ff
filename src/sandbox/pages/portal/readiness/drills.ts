import type { ReadinessFacts } from "../../../../core/control/readiness.ts";
import type { AnswerOf } from "../../../../core/control/operations.ts";
import { DRILL_KINDS, DRILL_NAMES, type DrillKind } from "../../../../core/readiness/names.ts";
import { RETURN_STEPS } from "../../../../core/readiness/drills/browser-return.ts";
import { stepTitle, type StepTitles } from "../../../../core/readiness/drills/drill.ts";
import { DUPLICATES_STEPS } from "../../../../core/readiness/drills/duplicates.ts";
import { IDEMPOTENCY_STEPS } from "../../../../core/readiness/drills/idempotency.ts";
import { CASE_NAMES, DRILL_CASES } from "../../../../core/readiness/drills/webhook.ts";
import { EVIDENCE_MS } from "../../../../core/readiness/proof.ts";
import type { DrillFact } from "../../../../core/control/drills.ts";
import { html, type Html } from "../../../../web/html.ts";
import type { WebhookProgress } from "../../../readiness/webhook-watch.ts";
import { field, tick } from "../fields.ts";
import { actForm, askedOnce, storePath } from "../forms.ts";
import { ago, copyable, dated, named, table } from "../parts.ts";
import type { PortalContext, View } from "../view.ts";
import { LAUNCH_TEXTS } from "./texts.ts";

const ORDER_VIEW = `--order-view http://localhost:3000/orders/{order_id} --paid-when '"status": *"paid"'`;

/** A result, and what it is about where there can be several. */
type Result = { readonly drill: DrillFact | null; readonly of: string };

/** Each drill: its steps, its command with what most shops have, and its last results. */
const DRILLS: Readonly<
  Record<
    DrillKind,
    {
      readonly steps: StepTitles;
      readonly command: string;
      readonly results: (facts: ReadinessFacts) => readonly Result[];
    }
  >
> = {
  webhook: {
    steps: DRILL_CASES,
    command: "checkout checklist run webhooks",
    results: ({ endpoints }) => endpoints.map(({ drill, url }) => ({ drill, of: url })),
  },
  duplicates: {
    steps: DUPLICATES_STEPS,
    command: `checkout checklist run duplicates ${ORDER_VIEW}`,
    results: ({ duplicates: drill }) => [{ drill, of: "" }],
  },
  idempotency: {
    steps: IDEMPOTENCY_STEPS,
    command: 'checkout checklist run idempotency --client-command "npm run checkout-once"',
    results: ({ idempotency: { drill } }) => [{ drill, of: "" }],
  },
  browser_return: {
    steps: RETURN_STEPS,
    command: `checkout checklist run browser-return --return-url http://localhost:3000/thanks ${ORDER_VIEW}`,
    results: ({ browserReturn: drill }) => [{ drill, of: "" }],
  },
};

/** What a drill of webhooks has found, a line for each endpoint; also where nothing was kept. */
export function foundLines({ drills }: AnswerOf<"runWebhookDrill">): string {
  return drills
    .map(({ url, verdict, steps }) => {
      const passed = steps.filter((step) => step.passed).length;
      const nothing = "it could not be reached, so nothing is known about it, and nothing was kept";
      return `${url}: ${verdict === "unknown" ? nothing : `${verdict}, ${passed} of ${steps.length} steps`}`;
    })
    .join("\n");
}

/** What the drill that was just run has found. */
export function ranLines({ language, shownOnce }: View): Html {
  if (shownOnce === undefined) return html``;
  return html`<div class="notice" role="status">
    <strong>${LAUNCH_TEXTS[language].ran}</strong>
    <ul class="evidence" lang="en">
      ${shownOnce.split("\n").map((line) => html`<li>${line}</li>`)}
    </ul>
  </div>`;
}

/** The drills that run now, with what they have seen so far. */
export function runningDrills(
  context: Pick<PortalContext, "idempotencyWatch" | "retrieveWatch" | "webhookWatch">,
  view: View,
  { underway, now }: ReadinessFacts,
): Html {
  const texts = LAUNCH_TEXTS[view.language];
  const held = underway.filter(({ drill }) => drill !== "webhook");
  return html`${context.webhookWatch.of(view.storeId).map((progress) => runningWebhooks(view, progress))}
  ${held.map(
    ({ id, drill, since }) =>
      html`<section class="panel running">
        <h2>
          ${texts.drillKinds[drill]} <span class="badge warn">${texts.running}</span>
          <span class="hint">${texts.since} ${ago(view, since, now)}</span>
        </h2>
        <p>${drill === "idempotency" ? texts.dropped : texts.heldBack}</p>
        ${seenSoFar(context, view, { drill, id })}
      </section>`,
  )}`;
}

/** The drill of an endpoint, with each request that was answered so far; also one that no command has begun. */
function runningWebhooks({ language }: View, { endpoint, total, results }: WebhookProgress): Html {
  const texts = LAUNCH_TEXTS[language];
  return html`<section class="panel running" id="running-${endpoint.id}">
    <h2>
      ${texts.drillKinds.webhook} <span class="badge warn">${texts.running}</span>
      <span class="hint">${endpoint.url}</span>
    </h2>
    <p>${texts.sent(results.length, total)}</p>
    <ol class="evidence" lang="en">
      ${results.map(
        ({ name, answer }) =>
          html`<li>
            ${DRILL_CASES[name].title}: ${"status" in answer ? String(answer.status) : answer.message}
          </li>`,
      )}
    </ol>
  </section>`;
}

function seenSoFar(
  { idempotencyWatch, retrieveWatch }: Pick<PortalContext, "idempotencyWatch" | "retrieveWatch">,
  { language, storeId }: View,
  { drill, id }: { readonly drill: DrillKind; readonly id: string },
): Html {
  const texts = LAUNCH_TEXTS[language];
  if (drill !== "idempotency") {
    return html`<p>${texts.retrieved(retrieveWatch.of({ storeId, id }).length)}</p>`;
  }
  const seen = idempotencyWatch.seen({ storeId, id });
  const lines = seen.map(
    ({ orderId, idempotencyKey, result, lost }) =>
      html`<li>
        <code>${orderId ?? "–"}</code> <code>${idempotencyKey ?? "–"}</code> ${result}${
          lost ? `, ${texts.answerDropped}` : ""
        }
      </li>`,
  );
  return html`<p>${texts.seen}: ${seen.length === 0 ? texts.noneSeen : String(seen.length)}</p>
    <ul class="evidence">
      ${lines}
    </ul>`;
}

/** Each drill: what it is for, what it has shown last, and how it is run. */
export function drillSections(view: View, known: ReadinessFacts): Html {
  return html`${DRILL_KINDS.map((kind) => drillSection(view, kind, known))}`;
}

function drillSection(view: View, kind: DrillKind, known: ReadinessFacts): Html {
  const texts = LAUNCH_TEXTS[view.language];
  const { command, results: resultsOf } = DRILLS[kind];
  const results = resultsOf(known).flatMap(({ drill, of }) =>
    drill === null ? [] : [drillResult(view, { drill, of, now: known.now })],
  );
  const waiver = known.waivers.find(({ drill, at }) => drill === kind && known.now - at < EVIDENCE_MS);
  return html`<div class="panel drill" id="drill-${DRILL_NAMES[kind]}">
    <h3>${texts.drillKinds[kind]}</h3>
    <p class="hint">${texts.drillHints[kind]}</p>
    ${results.length === 0 ? html`<p><span class="badge">${texts.neverRun}</span></p>` : ""} ${results}
    ${
      waiver === undefined
        ? ""
        : html`<p><span class="badge warn">${texts.waived}</span> ${waiver.reason} · ${dated(waiver.at)}</p>`
    }
    ${kind === "webhook" ? runForm(view) : html`<p>${texts.needsShell} ${copyable(command)}</p>`}
    ${waiveForm(view, kind)}
  </div>`;
}

function drillResult(
  view: View,
  { drill, of, now }: { readonly drill: DrillFact; readonly of: string; readonly now: number },
): Html {
  const { kind, passed, steps, at } = drill;
  const texts = LAUNCH_TEXTS[view.language];
  const right = steps.filter((step) => step.passed).length;
  const rows = steps.map(
    (step) =>
      html`<tr>
        <th scope="row" lang="en">
          <span class="badge ${step.passed ? "good" : "bad"}">${step.passed ? texts.ok : texts.notOk}</span>
          ${stepTitle(DRILLS[kind].steps, step.name)}
        </th>
        <td lang="en">${named(texts.expected, step.expected)}</td>
        <td lang="en">${named(texts.got, step.got)}</td>
        <td lang="en">${step.cause ?? ""}</td>
      </tr>`,
  );
  const columns = [texts.step, texts.expected, texts.got, texts.cause];
  return html`<details class="result">
    <summary>
      <span class="badge ${passed ? "good" : "bad"}">${passed ? texts.drillPassed : texts.drillFailed}</span>
      ${texts.steps(right, steps.length)}${of === "" ? "" : ` · ${of}`} · ${ago(view, at, now)}
    </summary>
    ${table(`${texts.drillKinds[kind]} ${of}`, columns, rows)}
  </details>`;
}

function runForm(view: View): Html {
  const texts = LAUNCH_TEXTS[view.language];
  const form = actForm(view, {
    action: storePath(view, "/launch/webhooks"),
    label: texts.run,
    content: tick(texts.orderEvents, "order_events"),
  });
  return html`<p class="hint">${texts.runHint(CASE_NAMES.length)}</p>
    ${form}
    <p>${copyable(DRILLS.webhook.command)}</p>`;
}

function waiveForm(view: View, kind: DrillKind): Html {
  const texts = LAUNCH_TEXTS[view.language];
  return askedOnce(
    texts.waive,
    texts.waiveHint,
    actForm(view, {
      action: storePath(view, "/launch/waivers"),
      label: texts.waiveNow,
      fields: { drill: kind },
      content: field(texts.reason, "reason", { required: true }),
    }),
  );
}
