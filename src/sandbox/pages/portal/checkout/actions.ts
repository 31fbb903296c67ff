import { isFinal } from "../../../../core/checkout/payment.ts";
import { PAY_OUTCOMES } from "../../../../core/checkout/reserved-order-id.ts";
import { html, type Html } from "../../../../web/html.ts";
import type { Words } from "../../../../core/language.ts";
import type { CheckoutView } from "../../../checkout/view.ts";
import { actionForm, storePath } from "../forms.ts";
import type { PartView } from "../view.ts";
import { CHECKOUTS_TEXTS } from "./texts.ts";

/** The payer's actions: buttons for the actions that are possible now, and the reasons why the others are not. */
export function payerActions(view: PartView, seen: CheckoutView): Html {
  const { status, id } = seen.checkout;
  const action = storePath(view, `/checkouts/${id}/pay`);
  if (!view.may("POST", action)) return html``;
  const why = isFinal(status) ? CHECKOUTS_TEXTS.isFinal[status] : undefined;
  const notLate = whyNotLate(seen);
  const buttons = PAY_OUTCOMES.map((outcome) => {
    const label = CHECKOUTS_TEXTS.outcomes[outcome];
    const style = outcome === "succeeded" ? "primary" : "";
    return why === undefined
      ? actionForm(view, { action, label, style, fields: { outcome } })
      : disabledButton(label, "why-final");
  });
  const late =
    notLate === undefined
      ? actionForm(view, {
          action: `${action}?late`,
          label: CHECKOUTS_TEXTS.late,
          fields: { outcome: "succeeded" },
        })
      : disabledButton(CHECKOUTS_TEXTS.late, "why-not-late");
  return html`<section class="acts">
    <h2 class="visually-hidden">${CHECKOUTS_TEXTS.acts}</h2>
    <div class="actions">${buttons} ${late}</div>
    <p class="hint">
      ${why === undefined ? "" : html`<span id="why-final">${why}</span>`}
      ${notLate === undefined ? "" : html`<span id="why-not-late">${notLate}</span>`}
    </p>
  </section>`;
}

/** A confirmation comes late only if a payment was in progress when the checkout ended (decision 10). */
function whyNotLate({ checkout, attempts, lateResults }: CheckoutView): Words | undefined {
  const why = CHECKOUTS_TEXTS.notLate;
  if (!isFinal(checkout.status)) return why.open;
  if (checkout.status === "succeeded") return why.paid;
  const left = attempts.find(({ outcome }) => outcome === "abandoned");
  if (left === undefined) return why.noAttempt;
  const isRecorded = lateResults.some(
    ({ attempt, result }) => attempt === left.number && result === "succeeded",
  );
  return isRecorded ? why.recorded : undefined;
}

function disabledButton(label: Words, why: string): Html {
  return html`<button type="button" disabled aria-describedby="${why}">${label}</button>`;
}
