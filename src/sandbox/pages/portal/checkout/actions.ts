import { isFinal } from "../../../../core/checkout/payment.ts";
import { PAY_OUTCOMES } from "../../../../core/checkout/reserved-order-id.ts";
import { html, type Html } from "../../../../web/html.ts";
import type { Words } from "../../../../core/language.ts";
import type { CheckoutView } from "../../../checkout/view.ts";
import { actionForm, storePath } from "../forms.ts";
import type { PartView } from "../view.ts";
import { CHECKOUTS_TEXTS } from "./texts.ts";

/** The payer's actions: buttons for the actions that are possible now, and the reasons why the others are not. */
export function payerActions(view: PartView, checkoutView: CheckoutView): Html {
  const { status, id } = checkoutView.checkout;
  const action = storePath(view, `/checkouts/${id}/pay`);
  if (!view.may("POST", action)) return html``;
  const reason = isFinal(status) ? CHECKOUTS_TEXTS.isFinal[status] : undefined;
  const notLateText = notLateReason(checkoutView);
  const buttons = PAY_OUTCOMES.map((outcome) => {
    const label = CHECKOUTS_TEXTS.outcomes[outcome];
    const style = outcome === "succeeded" ? "primary" : "";
    return reason === undefined
      ? actionForm(view, { action, label, style, fields: { outcome } })
      : disabledButton(label, "why-final");
  });
  const lateForm =
    notLateText === undefined
      ? actionForm(view, {
          action: `${action}?late`,
          label: CHECKOUTS_TEXTS.late,
          fields: { outcome: "succeeded" },
        })
      : disabledButton(CHECKOUTS_TEXTS.late, "why-not-late");
  return html`<section class="acts">
    <h2 class="visually-hidden">${CHECKOUTS_TEXTS.acts}</h2>
    <div class="actions">${buttons} ${lateForm}</div>
    <p class="hint">
      ${reason === undefined ? "" : html`<span id="why-final">${reason}</span>`}
      ${notLateText === undefined ? "" : html`<span id="why-not-late">${notLateText}</span>`}
    </p>
  </section>`;
}

/** Why a late success is not possible: it requires a payment in progress when the checkout ended (decision 10). */
function notLateReason({ checkout, attempts, lateResults }: CheckoutView): Words | undefined {
  const reasons = CHECKOUTS_TEXTS.notLate;
  if (!isFinal(checkout.status)) return reasons.open;
  if (checkout.status === "succeeded") return reasons.paid;
  const abandonedAttempt = attempts.find(({ outcome }) => outcome === "abandoned");
  if (abandonedAttempt === undefined) return reasons.noAttempt;
  const isRecorded = lateResults.some(
    ({ attempt, result }) => attempt === abandonedAttempt.number && result === "succeeded",
  );
  return isRecorded ? reasons.recorded : undefined;
}

function disabledButton(label: Words, reasonId: string): Html {
  return html`<button type="button" disabled aria-describedby="${reasonId}">${label}</button>`;
}
