import type { AnswerOf } from "../../../../core/control/operations.ts";
import { assignmentCommand } from "../../../../core/shell/quote.ts";
import { html, type Html } from "../../../../web/html.ts";
import { actionForm, storePath } from "../forms.ts";
import { copyableText, factList, keepLineBreaks } from "../parts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { FIRST_STEPS, finishedFirstSteps, hasFinishedFirstSteps, type FirstStep } from "./first-steps.ts";
import { SNIPPETS } from "./snippets.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import { CONNECT_TEXTS as TEXTS } from "./texts.ts";

export function connectPage(
  view: View,
  { apiKeys }: AnswerOf<"storeSummary">,
  context: PortalContext,
): PageContent {
  const lastFours = apiKeys.map(({ lastFour }) => lastFour);
  const main = html`${revealedKeyOrSecret(view)}
    <div class="connect">
      <div class="connect-main">${accessPanel(context, view, lastFours)} ${codePanel(view)}</div>
      ${stepsPanel(view, finishedFirstSteps(context, view.storeId))}
    </div>`;
  const title = hasFinishedFirstSteps(context, view.storeId) ? FRAME_TEXTS.connect : FRAME_TEXTS.start;
  return { title, main, liveTopic: "store" };
}

export function revealedKeyOrSecret({ oneTimeValue: secret }: View): Html {
  if (secret === undefined) return html``;
  const isKey = secret.startsWith("svc_");
  return html`<div class="notice good shown-once" role="status">
    <strong>${isKey ? TEXTS.newKey : TEXTS.secret}</strong>
    ${copyableText(secret)}
    <p>${isKey ? TEXTS.newKeyHint : TEXTS.secretHint}</p>
  </div>`;
}

function accessPanel({ description }: PortalContext, view: View, lastFours: readonly string[]): Html {
  const maskedKeys = lastFours.map((lastFour) => html`<code>svc_test_…${lastFour}</code> `);
  const key = html`${maskedKeys.length === 0 ? TEXTS.noKey : maskedKeys}
  ${actionForm(view, { action: storePath(view, "/connect/key"), label: TEXTS.makeKey })}`;
  const secret = html`<code>whsec_…</code> ${actionForm(view, {
      action: storePath(view, "/connect/secret"),
      label: TEXTS.showSecret,
    })}`;
  const assignments = Object.entries({
    CHECKOUT_BASE_URL: description.baseUrl,
    CHECKOUT_STORE_ID: view.storeId,
    CHECKOUT_API_KEY: "svc_test_…",
    CHECKOUT_SIGNING_SECRET: "whsec_…",
  }).map(([name, value]) => assignmentCommand(name, value, "sh"));
  return html`<section class="panel">
    <h2>${TEXTS.access}</h2>
    ${factList([
      [TEXTS.baseUrl, copyableText(description.baseUrl)],
      [COMMON_TEXTS.storeId, copyableText(view.storeId)],
      [TEXTS.apiKey, html`<div class="row">${key}</div>`],
      [COMMON_TEXTS.signingSecret, html`<div class="row">${secret}</div>`],
    ])}
    <h3>${TEXTS.variables}</h3>
    ${codeBlock(assignments.join("\n"))}
    <p class="hint">${TEXTS.variablesHint}</p>
  </section>`;
}

function codePanel(view: View): Html {
  const chosenSnippet = SNIPPETS.find(({ id }) => id === view.query.get("in")) ?? SNIPPETS[0];
  const tabs = SNIPPETS.map(({ id, name }) => {
    const currentMark = id === chosenSnippet.id ? html` aria-current="true"` : html``;
    return html`<li><a href="${storePath(view, "/connect")}?in=${id}#code" ${currentMark}>${name}</a></li>`;
  });
  return html`<section class="panel" id="code">
    <h2>${TEXTS.code}</h2>
    <nav aria-label="${TEXTS.languages}">
      <ul class="tabs">
        ${tabs}
      </ul>
    </nav>
    <h3>${TEXTS.create}</h3>
    ${codeBlock(chosenSnippet.create)}
    <h3>${TEXTS.verify}</h3>
    ${codeBlock(chosenSnippet.verify)}
  </section>`;
}

const STEPS: Readonly<Record<FirstStep, { readonly path: string; readonly command: string }>> = {
  ordered: {
    path: "/checkouts",
    command: "checkout orders create --order-id order-1001 --price-id price_coffee",
  },
  paid: { path: "/checkouts?status=succeeded", command: "checkout trigger order.succeeded" },
  delivered: { path: "/webhooks", command: "checkout endpoints add http://localhost:3000/hooks" },
  verified: { path: "/webhooks", command: "checkout listen --forward http://localhost:3000/hooks" },
  checked: { path: "/launch", command: "checkout checklist run webhooks" },
};

function stepsPanel(view: View, doneSteps: Readonly<Record<FirstStep, boolean>>): Html {
  const count = FIRST_STEPS.filter((step) => doneSteps[step]).length;
  return html`<section class="panel steps">
    <h2>${TEXTS.steps} <span class="hint">${`${count}/${FIRST_STEPS.length}`}</span></h2>
    <ol>
      ${FIRST_STEPS.map((step) => stepItem(view, step, doneSteps[step]))}
    </ol>
  </section>`;
}

function stepItem(view: View, step: FirstStep, isDone: boolean): Html {
  const { path, command } = STEPS[step];
  const state = isDone ? TEXTS.done : TEXTS.notDone;
  return html`<li class="${isDone ? "done" : "open"}">
    <a href="${storePath(view, path)}">${TEXTS[step]}</a> <span class="visually-hidden">${state}</span>
    ${isDone ? "" : html`<div>${copyableText(command)}</div>`}
  </li>`;
}

function codeBlock(text: string): Html {
  return html`<pre
    class="code"
    tabindex="0"
  ><code class="copy">${keepLineBreaks(text.trimEnd())}</code></pre>`;
}
