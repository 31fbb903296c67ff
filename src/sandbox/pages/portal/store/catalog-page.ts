import type { AnswerOf } from "../../../../core/control/operations.ts";
import { PAYMENT_METHODS } from "../../../../core/checkout/checkout.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { displayText } from "../../../../core/text.ts";
import { html, type Html } from "../../../../web/html.ts";
import {
  selectField,
  inputField,
  suggestions,
  checkbox,
  filledFields,
  parseAmount,
  type TypedForm,
} from "../fields.ts";
import { actionForm, formWithConfirmation, storePath } from "../forms.ts";
import { amountHtml, emptyListHtml, table, type TableRow } from "../parts.ts";
import type { PageContent, View } from "../view.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import { CATALOG_TEXTS as TEXTS } from "./texts.ts";
import { MAX_SUBJECT_LENGTH, type Price } from "../../../../core/checkout/shapes.ts";

export function catalogPage(view: View, { prices, capabilities }: AnswerOf<"storeSummary">): PageContent {
  const activeNames = new Set(capabilities.filter((capability) => capability.active).map(({ name }) => name));
  const noRows = emptyListHtml(
    TEXTS.none,
    "checkout prices add oolong --amount-minor 700 --currency EUR --payment-method alipay_plus",
  );
  const list = table({ caption: FRAME_TEXTS.catalog, noRows }, prices, (price) =>
    priceRow(view, price, activeNames),
  );
  const main = html`${list} ${addForm(view, capabilities)}`;
  return { title: FRAME_TEXTS.catalog, main, liveTopic: "store" };
}

const FIELDS = ["price_id", "payment_method", "description"] as const;

export function parsePriceForm(fields: ReadonlyMap<string, string>): Outcome<unknown> {
  const currency = (fields.get("currency") ?? "").toUpperCase();
  const amountMinor = parseAmount(fields, currency);
  if (!amountMinor.ok) return amountMinor;
  const { description = "", price_id: id, ...otherFields } = filledFields(fields, FIELDS);
  const approved = fields.get("approved") === "yes";
  return accept({ ...otherFields, id, description, amount_minor: amountMinor.value, currency, approved });
}

function priceRow(view: View, price: Price, activeNames: ReadonlySet<string>): TableRow {
  const { id, description, currency, paymentMethod } = price;
  const missingNames = [paymentMethod, currency].filter((name) => !activeNames.has(name));
  const retireForm = formWithConfirmation(view, [TEXTS.retire, TEXTS.retireQuestion(id), TEXTS.retireNow], {
    action: storePath(view, "/catalog/retire"),
    fields: { price_id: id },
  });
  const missingNote =
    missingNames.length === 0 || price.retired
      ? ""
      : html`<div class="hint">${TEXTS.lacks(missingNames.join(", "))}</div>`;
  return [
    [TEXTS.priceId, html`<code>${displayText(id)}</code>`, "head"],
    [TEXTS.description, displayText(description)],
    [COMMON_TEXTS.amount, html`${amountHtml(price)} <small>${String(price.amountMinor)}</small>`, "whole"],
    [COMMON_TEXTS.paymentMethod, paymentMethod],
    [COMMON_TEXTS.state, html`${stateOf(price)} ${missingNote}`],
    [COMMON_TEXTS.act, price.retired ? "" : retireForm],
  ];
}

function stateOf({ retired, approved }: Price): Html {
  if (retired) return html`<span class="badge">${COMMON_TEXTS.retired}</span>`;
  return approved
    ? html`<span class="badge good">${COMMON_TEXTS.approved}</span>`
    : html`<span class="badge warn">${COMMON_TEXTS.notApproved}</span>`;
}

function addForm(view: View, capabilities: AnswerOf<"storeSummary">["capabilities"]): Html {
  const action = storePath(view, "/catalog");
  if (!view.may("POST", action)) return html``;
  const currencies = capabilities.filter(({ kind }) => kind === "currency").map(({ name }) => name);
  return html`<section class="panel">
    <h2>${TEXTS.add}</h2>
    ${suggestions("currencies", currencies)}
    ${actionForm(view, { action, label: TEXTS.addNow, content: priceFields, style: "primary" })}
  </section>`;
}

function priceFields(typedForm: TypedForm): Html {
  const methods = PAYMENT_METHODS.map((method) => [method, method] as const);
  return html`<div class="fields">
    ${inputField(TEXTS.priceId, "price_id", { required: true, hint: TEXTS.idHint(MAX_SUBJECT_LENGTH), typedForm })}
    ${inputField(COMMON_TEXTS.amountMinor, "amount_minor", { required: true, numeric: true, hint: TEXTS.amountHint, typedForm })}
    ${inputField(TEXTS.currency, "currency", { required: true, hint: TEXTS.currencyHint, list: "currencies", typedForm })}
    ${selectField(COMMON_TEXTS.paymentMethod, "payment_method", methods, typedForm)}
    ${inputField(TEXTS.description, "description", { hint: TEXTS.optional, typedForm })}
    ${checkbox(TEXTS.approvedNow, "approved", { checked: true, typedForm })}
  </div>`;
}
