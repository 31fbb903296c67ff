import { merchantText } from "../../shared/merchant-text.ts";
import { decodeRequest, type AnswerOf } from "../../../../core/control/operations.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import type { LastAnswer } from "../../../../store/webhook/delivery-attempts.ts";
import { html, joinTexts, type Html, type Text } from "../../../../web/html.ts";
import { storeTime } from "../../../at-store.ts";
import { PAYMENT_TEXTS } from "../../payment/texts.ts";
import { listFilter } from "../fields.ts";
import { listAddress, storePath, testOrderForm } from "../forms.ts";
import { listUpdatesOf } from "../live/parts.ts";
import {
  ageOf,
  amount,
  answerBadge,
  momentWithDate,
  noItems,
  linkTo,
  noMatch,
  statusBadge,
  table,
  listTime,
  type TableRow,
} from "../parts.ts";
import { FRAME_TEXTS, COMMON_WORDS } from "../texts.ts";
import { runAsViewer } from "../route.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { lastChangeText } from "./last.ts";
import { CHECKOUTS_TEXTS } from "./texts.ts";
import type { CheckoutEntry } from "../../../../core/checkout/shapes.ts";

/** The filters, by their names in the address and in the operation. */
const FILTERS = { q: "q", status: "status", object: "object", method: "payment_method" } as const;

/** The checkouts of a store, newest first, 50 per page. All filters are in the address. */
export async function showCheckouts(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const given = Object.entries({ ...FILTERS, before: "before" }).flatMap(([name, field]) => {
    const value = view.query.get(name)?.trim() ?? "";
    return value === "" ? [] : [[field, value] as const];
  });
  const body = decodeRequest("listCheckouts", Object.fromEntries(given));
  if (!body.ok) return body;
  const listed = await runAsViewer(context, "listCheckouts", { ...view, body: body.value });
  if (!listed.ok) return listed;
  const { checkouts, nextBefore } = listed.value;
  const answers = context.store.deliveryAttempts.lastAnswers(checkouts.map(({ id }) => id));
  const now = storeTime(context, view.storeId);
  const ids = checkouts.map(rowId);
  const rowOf = (one: CheckoutEntry): TableRow => row(view, one, { now, answers: answers.get(one.id) ?? [] });
  const list = table(FRAME_TEXTS.checkouts, checkouts, rowOf, { opens: true, ids });
  const main = html`${filters(view)} ${searchExtent(listed.value)}
  ${checkouts.length === 0 ? emptyList(view) : html`<div class="checkouts">${list}</div>`}
  ${pager(view, nextBefore)}`;
  const lists = context.store.checkoutLists;
  const news = listUpdatesOf(view, checkouts, {
    positionOf: ({ id }) => lists.positionOf(view.storeId, id) ?? 0,
    rows: ids,
  });
  return accept({ title: FRAME_TEXTS.checkouts, main, live: "writes", news });
}

/** A GET form, so that a filtered list has an address that can be shared. */
function filters(view: View): Html {
  const action = storePath(view, "/checkouts");
  const isFiltered = Object.keys(FILTERS).some((name) => (view.query.get(name) ?? "") !== "");
  const { any } = CHECKOUTS_TEXTS;
  const chosen = (name: string): string => view.query.get(name) ?? "";
  return html`<form method="get" action="${action}" class="filters">
    <label class="wide">
      ${CHECKOUTS_TEXTS.search}
      <input type="search" name="q" value="${view.query.get("q") ?? ""}" maxlength="512" autocomplete="off" />
    </label>
    ${listFilter({ name: "status", label: COMMON_WORDS.status, any }, Object.entries(COMMON_WORDS.statuses), chosen("status"))}
    ${listFilter({ name: "object", label: COMMON_WORDS.kind, any }, Object.entries(CHECKOUTS_TEXTS.kinds), chosen("object"))}
    ${listFilter({ name: "method", label: COMMON_WORDS.paymentMethod, any }, Object.entries(PAYMENT_TEXTS.method), chosen("method"))}
    <button type="submit">${COMMON_WORDS.filter}</button>
    ${isFiltered ? html`<a href="${action}">${CHECKOUTS_TEXTS.clear}</a>` : ""}
  </form>`;
}

/** The number of checkouts searched, and the creation time of the oldest. */
function searchExtent({ searched: count, searchedBackTo }: AnswerOf<"listCheckouts">): Html {
  if (count === null || searchedBackTo === null) return html``;
  return html`<p class="hint">${CHECKOUTS_TEXTS.searched(count)} ${momentWithDate(searchedBackTo)}</p>`;
}

function row(
  view: View,
  checkout: CheckoutEntry,
  { now, answers }: { readonly now: number; readonly answers: readonly LastAnswer[] },
): TableRow {
  const { id, object, orderId, paymentMethod, status, createdAt, last } = checkout;
  const kind = object === "order" ? "" : html` <span class="badge">${CHECKOUTS_TEXTS.session}</span>`;
  const page = linkTo(storePath(view, `/checkouts/${id}`), merchantText(orderId));
  return [
    [COMMON_WORDS.created, listTime(createdAt, now)],
    [CHECKOUTS_TEXTS.order, html`${page}${kind}`, "head"],
    [COMMON_WORDS.amount, amount(checkout), "number"],
    [
      COMMON_WORDS.status,
      html`${statusBadge(status)}
      ${last.what === "created" ? html`<span class="last"></span>` : lastChangeText(view, last, now)}`,
    ],
    [CHECKOUTS_TEXTS.columnMethod, PAYMENT_TEXTS.method[paymentMethod]],
    [CHECKOUTS_TEXTS.answer, lastAnswers(answers)],
    [CHECKOUTS_TEXTS.age, ageOf(createdAt, now), "number", "named"],
  ];
}

function rowId({ id }: CheckoutEntry): string {
  return `checkout-${id}`;
}

/**
 * The last answer of the only endpoint; if there are several endpoints, the number that failed, in red if all failed.
 */
function lastAnswers(answers: readonly LastAnswer[]): Html {
  const [first, second] = answers;
  if (first === undefined) return html`<span class="hint">${CHECKOUTS_TEXTS.noWebhook}</span>`;
  const failing = answers.filter(({ status }) => status === null || status < 200 || status > 299);
  const retries = failing.some(({ state }) => state === "due") ? [CHECKOUTS_TEXTS.retries] : [];
  if (second === undefined) return badgeWithHint(answerBadge(first.status), [...errorsOf(first), ...retries]);
  const all = answers.length;
  if (failing.length === 0) return html`<span class="badge s2xx">${CHECKOUTS_TEXTS.allTook(all)}</span>`;
  const kind = failing.length === all ? "s5xx" : "s4xx";
  return badgeWithHint(
    html`<span class="badge ${kind}">${CHECKOUTS_TEXTS.someFailed(failing.length, all)}</span>`,
    retries,
  );
}

function errorsOf({ error }: LastAnswer): readonly string[] {
  return error === null ? [] : [error];
}

function badgeWithHint(badge: Html, more: readonly Text[]): Html {
  return more.length === 0 ? badge : html`${badge} <span class="hint">${joinTexts(more)}</span>`;
}

function emptyList(view: View): Html {
  if ([...view.query.values()].some((value) => value !== ""))
    return html`${noMatch(CHECKOUTS_TEXTS.noMatch, storePath(view, "/checkouts"))} ${amongRequests(view)}`;
  const command = "checkout orders create --order-id order-1001 --price-id price_coffee";
  return noItems(CHECKOUTS_TEXTS.noCheckouts, command, testOrderForm(view));
}

/** A link to the search in the request log, because a refused request has created no checkout. */
function amongRequests(view: View): Html {
  const q = view.query.get("q") ?? "";
  if (q === "") return html``;
  const address = listAddress(view, "/requests", { q });
  return html`<p class="hint"><a href="${address}">${CHECKOUTS_TEXTS.amongRequests}</a></p>`;
}

function pager(view: View, nextBefore: string | null): Html {
  const isFirst = !view.query.has("before");
  if (isFirst && nextBefore === null) return html``;
  const chosen = Object.fromEntries(Object.keys(FILTERS).map((name) => [name, view.query.get(name)]));
  const address = (before: string | null): string => listAddress(view, "/checkouts", { ...chosen, before });
  return html`<nav class="pager" aria-label="${CHECKOUTS_TEXTS.pages}">
    ${isFirst ? "" : html`<a class="plain" href="${address(null)}">${CHECKOUTS_TEXTS.newest}</a>`}
    ${nextBefore === null ? "" : html`<a class="plain" rel="next" href="${address(nextBefore)}">${COMMON_WORDS.older}</a>`}
  </nav>`;
}
