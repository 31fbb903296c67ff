import { merchantText } from "../../shared/layout.ts";
import interfaceText from "../../../../../INTERFACE.md?raw";
import { REFUSAL_CHECKS, checkOfCode, orderedChecks } from "../../../../core/explain/checks.ts";
import type { Explanation } from "../../../../core/explain/explanation.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { ASSUMPTIONS } from "../../../../core/calibration/assumptions.ts";
import type { ErrorCode } from "../../../../core/errors.ts";
import { explainRequest } from "../../../../core/explain/request.ts";
import type { StoryRequest } from "../../../../core/explain/timeline.ts";
import type { Checkout } from "../../../../core/checkout/checkout.ts";
import { COLON, COMMA, translatorFor, type Words } from "../../../../core/language.ts";
import { html, type Html } from "../../../../web/html.ts";
import { readLoggedRequest } from "../../../explain/explain.ts";
import { listUrl, storePath } from "../forms.ts";
import { httpStatusBadge, copyableText, momentWithDate, factList, linkTo, section } from "../parts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { differencesTable, requestDetails } from "./exchange.ts";
import { COMMON_TEXTS } from "../texts.ts";
import { REQUEST_TEXTS } from "./texts.ts";

export async function requestPage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const loggedRequest = readLoggedRequest(context, view.storeId, view.id);
  if (!loggedRequest.ok) return loggedRequest;
  const { request, conflict, replays } = loggedRequest.value;
  const explanation = explainRequest(request, conflict, replays, translatorFor(view.language));
  const { storeId } = view;
  const { orderId } = request;
  const newestCheckouts =
    orderId === null ? [] : context.store.checkouts.ofOrder({ storeId, orderId, limit: 1 });
  const { differences } = explanation;
  const differencePart =
    differences.length === 0 ? "" : section(REQUEST_TEXTS.differences, differencesTable(differences));
  const main = html`<section class="panel">
      ${requestFacts(view, request, conflict ?? newestCheckouts[0])}
    </section>
    ${explanationPart(request, explanation)} ${differencePart}
    ${section(REQUEST_TEXTS.exchange, requestDetails(request, conflict))}`;
  return accept({ title: REQUEST_TEXTS.requestTitle(request.method, request.path), main });
}

function requestFacts(view: View, request: StoryRequest, checkout: Checkout | undefined): Html {
  const { requestId, at, storeAt, status, code, durationMs, orderId, fault, key } = request;
  const page =
    checkout === undefined
      ? listUrl(view, "/requests", { q: orderId })
      : storePath(view, `/checkouts/${checkout.id}`);
  return factList([
    [COMMON_TEXTS.id, copyableText(requestId)],
    [COMMON_TEXTS.time, momentWithDate(storeAt)],
    at === storeAt ? null : [COMMON_TEXTS.realTime, momentWithDate(at)],
    [
      COMMON_TEXTS.status,
      html`${httpStatusBadge(status)} ${code === null ? "" : html`<code>${code}</code>`}
        <span class="hint">${COMMON_TEXTS.took(durationMs.toFixed(1))}</span>`,
    ],
    orderId === null ? null : [COMMON_TEXTS.order, linkTo(page, merchantText(orderId))],
    key === null ? null : ["Idempotency-Key", copyableText(key)],
    fault && [
      COMMON_TEXTS.fault,
      html`<a href="${storePath(view, "/faults")}">${fault.action}</a> ${copyableText(fault.id)}`,
    ],
    [COMMON_TEXTS.inTerminal, copyableText(`checkout explain ${requestId}`)],
  ]);
}

function explanationPart(
  { method, code, fault }: StoryRequest,
  { summary, check, field, expected, received, rule, decision, next }: Explanation,
): Html {
  return html`<section>
    <h2>${REQUEST_TEXTS.why}</h2>
    <p>${summary}</p>
    ${factList([
      field === null ? null : [REQUEST_TEXTS.field, html`<code>${field}</code>`],
      expected === null ? null : [COMMON_TEXTS.expected, expected],
      received === null ? null : [COMMON_TEXTS.got, html`<code>${received}</code>`],
      rule === null
        ? null
        : [REQUEST_TEXTS.rule, ruleReference(REQUEST_TEXTS.ruleNumber(rule), ruleOf(rule))],
      decision === null
        ? null
        : [
            COMMON_TEXTS.decision,
            ruleReference(REQUEST_TEXTS.decisionNumber(decision), decisionOf(decision)),
          ],
      next.length === 0
        ? null
        : [
            COMMON_TEXTS.help,
            html`<div class="fixes">${next.map((line) => html`<div>${copyableText(line)}</div>`)}</div>`,
          ],
    ])}
    ${fault === null ? checksFigure(method, check === null ? null : code) : ""}
  </section>`;
}

function ruleReference(number: Words, rule: RuleText | undefined): Html {
  if (rule === undefined) return html`${number}`;
  const { title, words, isQuoted } = rule;
  return html`${number}${COMMA}<span ${isQuoted ? html`lang="en"` : ""}
      ><strong>${title}</strong>${COLON}${words}</span
    >`;
}

function checksFigure(method: string, code: ErrorCode | null): Html {
  const check = code === null ? null : checkOfCode(code).name;
  const checks = orderedChecks(method, check);
  const refusedIndex = check === null ? checks.length : checks.indexOf(check);
  return html`<figure class="ladder">
    <figcaption>${REQUEST_TEXTS.checks}</figcaption>
    <ol>
      ${checks.map((name, index) => {
        const result =
          index < refusedIndex ? "passed" : index === refusedIndex ? "refusedHere" : "notReached";
        return html`<li class="${result}">
          ${REFUSAL_CHECKS[name]}<span class="visually-hidden">${COLON}${REQUEST_TEXTS[result]}</span>
        </li>`;
      })}
    </ol>
  </figure>`;
}

type RuleText = {
  readonly title: string | Words;
  readonly words: string | Words;
  readonly isQuoted: boolean;
};

function ruleOf(number: number): RuleText | undefined {
  const prefix = `**${number}. `;
  const paragraph = interfaceText.split("\n\n").find((text) => text.startsWith(prefix));
  const [, title = "", words = ""] = /^\*\*\d+\. (.+?)\.?\*\*\s*(.*)$/s.exec(paragraph ?? "") ?? [];
  return title === ""
    ? undefined
    : { title, words: words.replaceAll(/\s+/g, " ").replaceAll("`", ""), isQuoted: true };
}

function decisionOf(number: number): RuleText | undefined {
  const assumption = ASSUMPTIONS.find((entry) => entry.decision === number);
  return assumption && { title: assumption.title, words: assumption.chosen, isQuoted: false };
}
