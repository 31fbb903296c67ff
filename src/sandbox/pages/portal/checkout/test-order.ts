import type { Language } from "../../../../core/language.ts";
import { formatPrice } from "../../../../core/money.ts";
import { accept, mapValue, type Outcome } from "../../../../core/outcome.ts";
import { html, type Html } from "../../../../web/html.ts";
import { tagOf } from "../../../../web/language.ts";
import { filledFields, inputField, parseAmount, selectField } from "../fields.ts";
import { actionForm, storePath, typedValues } from "../forms.ts";
import { finishedFirstSteps } from "../store/first-steps.ts";
import { COMMON_TEXTS } from "../texts.ts";
import type { PortalContext, View } from "../view.ts";
import { CHECKOUTS_TEXTS as TEXTS } from "./texts.ts";

/** The form of a test order: open while the store has no checkout, and hidden if the viewer may not send it. */
export function testOrderPart({ store }: PortalContext, view: View): Html {
  const action = storePath(view, "/checkouts/test-orders");
  if (!view.may("POST", action)) return html``;
  const typedForm = typedValues(view, action);
  const prices = store.prices.of(view.storeId).filter(({ approved, retired }) => approved && !retired);
  const content = html`<div class="fields">
    ${selectField(
      COMMON_TEXTS.price,
      "price_id",
      [
        ["", TEXTS.byAmount],
        ...prices.map(
          ({ id, amountMinor, currency }) =>
            [
              id,
              (language: Language) => `${id} · ${formatPrice(amountMinor, currency, tagOf(language))}`,
            ] as const,
        ),
      ],
      typedForm,
    )}
    ${inputField(COMMON_TEXTS.amountMinor, "amount_minor", { numeric: true, placeholder: "1000", hint: TEXTS.amountHint, typedForm })}
    ${selectField(COMMON_TEXTS.kind, "object", Object.entries(TEXTS.kinds), typedForm)}
  </div>`;
  const isOpen = typedForm !== undefined || !finishedFirstSteps({ store }, view.storeId).ordered;
  return html`<details class="test-order" ${isOpen ? html`open` : ""}>
    <summary>${COMMON_TEXTS.testOrder}</summary>
    ${actionForm(view, { action, label: TEXTS.create, content, style: "primary" })}
  </details>`;
}

/** Parses the form of a test order; an empty amount means the price's amount, or the default. */
export function parseTestOrderForm(fields: ReadonlyMap<string, string>): Outcome<unknown> {
  const chosenFields = filledFields(fields, ["object", "price_id"]);
  if ((fields.get("amount_minor") ?? "") === "") return accept(chosenFields);
  return mapValue(parseAmount(fields, ""), (amount) => ({ ...chosenFields, amount_minor: amount }));
}
