import { ladderOf } from "../../../../core/explain/checks.ts";
import type { Explanation } from "../../../../core/explain/explanation.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import type { LoggedRequest } from "../../../../core/request/logged-request.ts";
import type { Checkout } from "../../../../core/checkout/checkout.ts";
import { html, type Html } from "../../../../web/html.ts";
import { storePath } from "../frame.ts";
import { answerBadge, copyable, dated, facts, table } from "../parts.ts";
import { ask } from "../route.ts";
import type { Content, PortalContext, View } from "../view.ts";
import { requestDetails } from "./exchange.ts";
import { decisionOf, ruleOf, type Stated } from "./stated.ts";
import { REQUEST_TEXTS } from "./texts.ts";

/** The page of a request: why it was answered so, with the words of `checkout explain`, and its bytes. */
export async function requestPage(context: PortalContext, view: View): Promise<Outcome<Content>> {
  const texts = REQUEST_TEXTS[view.language];
  const known = await ask(context, "showRequest", { ...view, body: undefined });
  if (!known.ok) return known;
  const explained = await ask(context, "explain", { ...view, body: { id: view.id, as: "request" } });
  if (!explained.ok) return explained;
  const request = context.requests.find(view.storeId, view.id);
  const checkout = checkoutOf(context, view, known.value.orderId);
  const { method, path } = known.value;
  const main = html`<section class="panel">${requestFacts(view, known.value, checkout)}</section>
    ${whyPart(view, known.value, explained.value)} ${differencePart(view, explained.value)}
    ${
      request === undefined
        ? ""
        : html`<section>
            <h2>${texts.exchange}</h2>
            ${requestDetails(view, request, madeBy(context, request, checkout))}
          </section>`
    }`;
  return accept({ title: texts.requestTitle(method, path), main });
}

/** What a request of the log tells at the top of its page. */
type Told = Pick<
  LoggedRequest,
  "requestId" | "at" | "method" | "status" | "code" | "durationMs" | "orderId" | "fault"
>;

/** The newest checkout of an order. */
function checkoutOf(
  { store }: PortalContext,
  { storeId }: View,
  orderId: string | null,
): Checkout | undefined {
  return orderId === null ? undefined : store.checkouts.ofOrder({ storeId, orderId, limit: 1 })[0];
}

/** The checkout that a request made: it is there since, and no later one of its order. */
function madeBy(
  { checkoutOrigin }: PortalContext,
  { method, status, storeAt, durationMs }: LoggedRequest,
  checkout: Checkout | undefined,
): { readonly checkout: Checkout; readonly checkoutOrigin: string } | undefined {
  if (checkout === undefined || method !== "POST" || status !== 201) return undefined;
  return checkout.createdAt <= storeAt + Math.ceil(durationMs) ? { checkout, checkoutOrigin } : undefined;
}

function requestFacts(view: View, request: Told, checkout: Checkout | undefined): Html {
  const texts = REQUEST_TEXTS[view.language];
  const { requestId, at, status, code, durationMs, orderId, fault } = request;
  const orders = new URLSearchParams({ q: orderId ?? "" }).toString();
  const page = checkout === undefined ? `/checkouts?${orders}` : `/checkouts/${checkout.id}`;
  return facts([
    [texts.requestId, copyable(requestId)],
    [texts.time, dated(at)],
    [
      texts.status,
      html`${answerBadge(view, status)} ${code === null ? "" : html`<code>${code}</code>`}
        <span class="hint">${texts.durationOf(durationMs.toFixed(1))}</span>`,
    ],
    ...(orderId === null
      ? []
      : ([[texts.order, html`<a href="${storePath(view, page)}">${orderId}</a>`]] as const)),
    ...(fault === null
      ? []
      : ([
          [
            texts.fault,
            html`<a href="${storePath(view, "/faults")}">${fault.action}</a> ${copyable(fault.id)}`,
          ],
        ] as const)),
    ["explain", copyable(`checkout explain ${requestId}`)],
  ]);
}

/** Why: the words of `checkout explain`, the rung of the ladder, what was expected, and what helps. */
function whyPart(
  view: View,
  { method, code, fault }: Told,
  { summary, check, expected, received, rule, decision, next }: Explanation,
): Html {
  const texts = REQUEST_TEXTS[view.language];
  const stated = [
    [texts.rule, rule, texts.ruleNumber, rule === null ? undefined : ruleOf(rule)],
    [texts.decision, decision, texts.decisionNumber, decision === null ? undefined : decisionOf(decision)],
  ] as const;
  return html`<section>
    <h2>${texts.why}</h2>
    <p lang="en">${summary}</p>
    ${facts([
      ...(expected === null ? [] : ([[texts.expected, html`<span lang="en">${expected}</span>`]] as const)),
      ...(received === null ? [] : ([[texts.got, html`<code>${received}</code>`]] as const)),
      ...stated.flatMap(([label, number, name, words]) =>
        number === null ? [] : [[label, statedWords(name(number), words)] as const],
      ),
      ...(next.length === 0
        ? []
        : ([[texts.fix, html`<div class="fixes">${next.map((line) => copyable(line))}</div>`]] as const)),
    ])}
    ${fault === null ? ladder(view, method, code === null ? null : check) : ""}
  </section>`;
}

function statedWords(number: string, stated: Stated | undefined): Html {
  if (stated === undefined) return html`${number}`;
  return html`${number}, <span lang="en"><strong>${stated.title}</strong>: ${stated.words}</span>`;
}

/** The checks in their order: those that it passed, the one that refused it, and those that it did not reach. */
function ladder({ language }: View, method: string, check: string | null): Html {
  const texts = REQUEST_TEXTS[language];
  const rungs = ladderOf(method, check);
  const refusedAt = check === null ? rungs.length : rungs.indexOf(check);
  return html`<figure class="ladder">
    <figcaption>${texts.checks}</figcaption>
    <ol>
      ${rungs.map((name, at) => {
        const result = at < refusedAt ? "passed" : at === refusedAt ? "refusedHere" : "notReached";
        return html`<li class="${result}">
          ${texts.checkNames[name] ?? name}<span class="visually-hidden">: ${texts[result]}</span>
        </li>`;
      })}
    </ol>
  </figure>`;
}

function differencePart({ language }: View, { differences }: Explanation): Html {
  const texts = REQUEST_TEXTS[language];
  if (differences.length === 0) return html``;
  const rows = differences.map(({ field, first, this: now }) => {
    const cell = (value: string | null): Html =>
      value === null ? html`<span class="hint">${texts.absent}</span>` : html`<code>${value}</code>`;
    return html`<tr>
      <th scope="row"><code>${field}</code></th>
      <td>${cell(first)}</td>
      <td>${cell(now)}</td>
    </tr>`;
  });
  return html`<section>
    <h2>${texts.differences}</h2>
    ${table(texts.differences, [texts.field, texts.first, texts.now], rows)}
  </section>`;
}
