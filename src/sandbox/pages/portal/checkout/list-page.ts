import { decodeRequest, type AnswerOf } from "../../../../core/control/operations.ts";
import type { CheckoutEntry } from "../../../../core/checkout/shapes.ts";
import type { Language } from "../../../../core/language.ts";
import { formatPrice } from "../../../../core/money.ts";
import { accept, mapValue, type Outcome } from "../../../../core/outcome.ts";
import type { LastAnswer } from "../../../../store/webhook/delivery-attempts.ts";
import { html, joinTexts, type Html, type Text } from "../../../../web/html.ts";
import { languageTagOf } from "../../../../web/language.ts";
import { storeTime } from "../../../with-store.ts";
import { PAYMENT_TEXTS } from "../../payment/texts.ts";
import { merchantText } from "../../shared/layout.ts";
import { filledFields, inputField, parseAmount, selectField, type TypedForm } from "../fields.ts";
import { actionForm, listUrl, storePath, typedValues } from "../forms.ts";
import { listPage } from "../list.ts";
import {
  ageHtml,
  amountHtml,
  httpStatusBadge,
  momentWithDate,
  emptyListHtml,
  linkTo,
  statusBadge,
  shortTimeHtml,
  type TableRow,
} from "../parts.ts";
import { runAsViewer } from "../route.ts";
import { finishedFirstSteps } from "../store/first-steps.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { lastChangeHtml } from "./last.ts";
import { CHECKOUTS_TEXTS } from "./texts.ts";

type ListedCheckout = { readonly checkout: CheckoutEntry; readonly answers: readonly LastAnswer[] };

export function checkoutListPage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const { storeId } = view;
  const command = "checkout orders create --order-id order-1001 --price-id price_coffee";
  return listPage<ListedCheckout>(view, {
    title: FRAME_TEXTS.checkouts,
    liveTopic: "writes",
    path: "/checkouts",
    filters: {
      q: { label: CHECKOUTS_TEXTS.search, isWide: true },
      status: { label: COMMON_TEXTS.status, options: Object.entries(COMMON_TEXTS.statuses) },
      object: { label: COMMON_TEXTS.kind, options: Object.entries(CHECKOUTS_TEXTS.kinds) },
      method: { label: COMMON_TEXTS.paymentMethod, options: Object.entries(PAYMENT_TEXTS.method) },
    },
    columns: (entry) => checkoutRow(view, entry, storeTime(context, storeId)),
    read: async ({ method, ...query }) => {
      const fields = method === undefined ? query : { ...query, payment_method: method };
      const body = decodeRequest("listCheckouts", fields);
      if (!body.ok) return body;
      const checkoutList = await runAsViewer(context, "listCheckouts", { ...view, body: body.value });
      return mapValue(checkoutList, (answer) => {
        const { checkouts, nextBefore: next } = answer;
        const answers = context.store.deliveryAttempts.lastAnswers(checkouts.map(({ id }) => id));
        const items = checkouts.map((checkout) => ({ checkout, answers: answers.get(checkout.id) ?? [] }));
        return { items, next, extent: searchExtent(answer) };
      });
    },
    noRows: emptyListHtml(CHECKOUTS_TEXTS.noCheckouts, command),
    wrap: (list) => html`${testOrderPart(context, view)} ${list}`,
    searchLink: requestSearchLink(view),
    positionOf: ({ checkout: { id } }) => context.store.checkoutLists.positionOf(storeId, id) ?? 0,
    rowId: ({ checkout: { id } }) => `checkout-${id}`,
  });
}

function searchExtent({ searched: count, searchedBackTo }: AnswerOf<"listCheckouts">): Html {
  if (count === null || searchedBackTo === null) return html``;
  return html`<p class="hint">${CHECKOUTS_TEXTS.searched(count)} ${momentWithDate(searchedBackTo)}</p>`;
}

function checkoutRow(view: View, { checkout, answers }: ListedCheckout, now: number): TableRow {
  const { id, object, orderId, paymentMethod, status, createdAt, last } = checkout;
  const kindBadge = object === "order" ? "" : html` <span class="badge">${CHECKOUTS_TEXTS.session}</span>`;
  const page = linkTo(storePath(view, `/checkouts/${id}`), merchantText(orderId));
  return [
    [COMMON_TEXTS.created, shortTimeHtml(createdAt, now)],
    [PAYMENT_TEXTS.order, html`${page}${kindBadge}`, "head"],
    [COMMON_TEXTS.amount, amountHtml(checkout), "number"],
    [
      COMMON_TEXTS.status,
      html`${statusBadge(status)}
      ${last.what === "created" ? html`<span class="last"></span>` : lastChangeHtml(view, last, now)}`,
    ],
    [CHECKOUTS_TEXTS.columnMethod, PAYMENT_TEXTS.method[paymentMethod]],
    [CHECKOUTS_TEXTS.answer, lastAnswersHtml(answers)],
    [CHECKOUTS_TEXTS.age, ageHtml(createdAt, now), "number", "named"],
  ];
}

function lastAnswersHtml(answers: readonly LastAnswer[]): Html {
  const [answer, secondAnswer] = answers;
  if (answer === undefined) return html`<span class="hint">${CHECKOUTS_TEXTS.noWebhook}</span>`;
  const failures = answers.filter(({ status }) => status === null || status < 200 || status > 299);
  const retries = failures.some(({ state }) => state === "due") ? [CHECKOUTS_TEXTS.retries] : [];
  const errors = answer.error === null ? [] : [answer.error];
  if (secondAnswer === undefined)
    return badgeWithHint(httpStatusBadge(answer.status), [...errors, ...retries]);
  const total = answers.length;
  if (failures.length === 0) return html`<span class="badge s2xx">${CHECKOUTS_TEXTS.allOk(total)}</span>`;
  const style = failures.length === total ? "s5xx" : "s4xx";
  return badgeWithHint(
    html`<span class="badge ${style}">${CHECKOUTS_TEXTS.someFailed(failures.length, total)}</span>`,
    retries,
  );
}

function badgeWithHint(badge: Html, hints: readonly Text[]): Html {
  return hints.length === 0 ? badge : html`${badge} <span class="hint">${joinTexts(hints)}</span>`;
}

function requestSearchLink(view: View): Html {
  const q = view.query.get("q") ?? "";
  if (q === "") return html``;
  const address = listUrl(view, "/requests", { q });
  return html`<p class="hint"><a href="${address}">${CHECKOUTS_TEXTS.searchRequests}</a></p>`;
}

function testOrderPart(context: PortalContext, view: View): Html {
  const action = storePath(view, "/checkouts/test-orders");
  if (!view.may("POST", action)) return html``;
  const isOpen =
    typedValues(view, action) !== undefined || !finishedFirstSteps(context, view.storeId).ordered;
  const content = (typedForm: TypedForm): Html => testOrderFields(context, view, typedForm);
  return html`<details class="test-order" ${isOpen ? html`open` : ""}>
    <summary>${COMMON_TEXTS.testOrder}</summary>
    ${actionForm(view, { action, label: CHECKOUTS_TEXTS.create, content, style: "primary" })}
  </details>`;
}

function testOrderFields({ store }: PortalContext, { storeId }: View, typedForm: TypedForm): Html {
  const prices = store.prices.of(storeId).filter(({ approved, retired }) => approved && !retired);
  const priceOptions = prices.map(({ id, amountMinor, currency }) => {
    const text = (language: Language): string =>
      `${id} · ${formatPrice(amountMinor, currency, languageTagOf(language))}`;
    return [id, text] as const;
  });
  return html`<div class="fields">
    ${selectField(COMMON_TEXTS.price, "price_id", [["", CHECKOUTS_TEXTS.byAmount], ...priceOptions], typedForm)}
    ${inputField(COMMON_TEXTS.amountMinor, "amount_minor", { numeric: true, placeholder: "1000", hint: CHECKOUTS_TEXTS.amountHint, typedForm })}
    ${selectField(COMMON_TEXTS.kind, "object", Object.entries(CHECKOUTS_TEXTS.kinds), typedForm)}
  </div>`;
}

/** An empty amount means the price's amount, or the default. */
export function parseTestOrderForm(fields: ReadonlyMap<string, string>): Outcome<unknown> {
  const chosenFields = filledFields(fields, ["object", "price_id"]);
  if ((fields.get("amount_minor") ?? "") === "") return accept(chosenFields);
  return mapValue(parseAmount(fields, ""), (amount) => ({ ...chosenFields, amount_minor: amount }));
}
