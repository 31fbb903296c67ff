import { MAX_SUBJECT_LENGTH, type Price } from "../../../../core/control/checkout.ts";
import { PAYMENT_METHODS } from "../../../../core/checkout/checkout.ts";
import { expectedAmount } from "../../../../core/money.ts";
import { accept, refuse, type Outcome } from "../../../../core/outcome.ts";
import { printableLiteral } from "../../../../core/text.ts";
import { html, type Html } from "../../../../web/html.ts";
import { choice, field, suggestions, tick, typed } from "../fields.ts";
import { actForm, askedOnce, storePath } from "../forms.ts";
import { amount, empty, table } from "../parts.ts";
import { ask } from "../route.ts";
import type { Content, PortalContext, View } from "../view.ts";
import { STORE_TEXTS } from "./texts.ts";

/** The prices of a store's catalog, with those that are not approved or retired. */
export async function catalogPage(context: PortalContext, view: View): Promise<Outcome<Content>> {
  const summary = await ask(context, "storeSummary", { ...view, body: undefined });
  if (!summary.ok) return summary;
  const { prices, capabilities } = summary.value;
  const texts = STORE_TEXTS[view.language].catalog;
  const active = new Set(capabilities.filter((one) => one.active).map(({ name }) => name));
  const columns = [texts.id, texts.description, texts.amount, texts.method, texts.state, texts.act];
  const main = html`${
    prices.length === 0
      ? empty(
          texts.none,
          "checkout prices add oolong --amount-minor 700 --currency EUR --payment-method alipay_plus",
        )
      : table(
          texts.title,
          columns,
          prices.map((price) => row(view, price, active)),
        )
  }
  ${addForm(view, capabilities)}`;
  return accept({ title: texts.title, main, live: { kind: "store" } });
}

const FIELDS = ["price_id", "payment_method", "description"] as const;

/** What the form of a new price says. Refuses an amount that is not in minor units, with what was meant. */
export function readPrice(fields: ReadonlyMap<string, string>): Outcome<unknown> {
  const currency = (fields.get("currency") ?? "").toUpperCase();
  const text = fields.get("amount_minor") ?? "";
  const expected = expectedAmount(text, currency);
  if (expected !== undefined)
    return refuse("invalid_parameter", `amount_minor: expected ${expected}; got ${printableLiteral(text)}`);
  const { description = "", price_id: id, ...rest } = typed(fields, FIELDS);
  const approved = fields.get("approved") === "yes";
  return accept({ ...rest, id, description, amount_minor: Number(text), currency, approved });
}

function row(view: View, price: Price, active: ReadonlySet<string>): Html {
  const texts = STORE_TEXTS[view.language].catalog;
  const { id, description, currency, paymentMethod } = price;
  const lacks = [paymentMethod, currency].filter((name) => !active.has(name));
  const retire = askedOnce(
    texts.retire,
    texts.retireQuestion(id),
    actForm(view, {
      action: storePath(view, "/catalog/retire"),
      label: texts.retireNow,
      fields: { price_id: id },
      style: "danger",
    }),
  );
  return html`<tr>
    <th scope="row"><code>${id}</code></th>
    <td>${description}</td>
    <td class="whole">${amount(view, price)} <small>${String(price.amountMinor)}</small></td>
    <td>${paymentMethod}</td>
    <td>
      ${stateOf(view, price)}
      ${lacks.length === 0 || price.retired ? "" : html`<div class="hint">${texts.lacks(lacks.join(", "))}</div>`}
    </td>
    <td>${price.retired ? "" : retire}</td>
  </tr>`;
}

function stateOf(view: View, { retired, approved }: Price): Html {
  const texts = STORE_TEXTS[view.language].catalog;
  if (retired) return html`<span class="badge">${texts.retired}</span>`;
  return approved
    ? html`<span class="badge good">${texts.approved}</span>`
    : html`<span class="badge warn">${texts.unapproved}</span>`;
}

function addForm(
  view: View,
  capabilities: readonly { readonly kind: string; readonly name: string }[],
): Html {
  const texts = STORE_TEXTS[view.language].catalog;
  const currencies = capabilities.filter(({ kind }) => kind === "currency").map(({ name }) => name);
  const content = html`<div class="fields">
    ${field(texts.id, "price_id", { required: true, hint: texts.idHint(MAX_SUBJECT_LENGTH) })}
    ${field(texts.amountMinor, "amount_minor", { required: true, numeric: true, hint: texts.amountHint })}
    ${field(texts.currency, "currency", { required: true, hint: texts.currencyHint, list: "currencies" })}
    ${choice(
      texts.method,
      "payment_method",
      PAYMENT_METHODS.map((method) => [method, method]),
    )}
    ${field(texts.description, "description", { hint: texts.optional })}
    ${tick(texts.approvedNow, "approved", { checked: true })}
  </div>`;
  return html`<section class="panel">
    <h2>${texts.add}</h2>
    ${suggestions("currencies", currencies)}
    ${actForm(view, { action: storePath(view, "/catalog"), label: texts.addNow, content, style: "primary" })}
  </section>`;
}
