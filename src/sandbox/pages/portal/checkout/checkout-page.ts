import type { Words } from "../../../../core/language.ts";
import { isFinal } from "../../../../core/checkout/payment.ts";
import { PAY_OUTCOMES } from "../../../../core/checkout/reserved-order-id.ts";
import { displayText } from "../../../../core/text.ts";
import type { Checkout } from "../../../../core/checkout/checkout.ts";
import {
  checkoutUrl,
  HIDDEN_FIELD,
  visibleValues,
  type FieldDisplay,
} from "../../../../core/checkout/wire.ts";
import { nextCommands } from "../../../../core/explain/checkout.ts";
import { EXPLAIN_SENTENCES } from "../../../../core/explain/sentences.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { html, type Html } from "../../../../web/html.ts";
import { lastChangeOf } from "../../../checkout/list.ts";
import { viewCheckout, type CheckoutView } from "../../../checkout/view.ts";
import { readStory } from "../../../explain/explain.ts";
import { PAYMENT_TEXTS } from "../../payment/texts.ts";
import { merchantText } from "../../shared/layout.ts";
import { actionForm, linkUnlessSaved, listUrl, storePath } from "../forms.ts";
import { amountHtml, copyableText, momentWithDate, factList, statusBadge, type FactRows } from "../parts.ts";
import type { OperationContext } from "../../../control/handler.ts";
import type { PageContent, PartView } from "../view.ts";
import { lastChangeHtml } from "./last.ts";
import { COMMON_TEXTS } from "../texts.ts";
import { CHECKOUTS_TEXTS } from "./texts.ts";
import { timeline } from "./timeline.ts";

export async function checkoutDetailsPage(
  context: OperationContext,
  view: PartView,
): Promise<Outcome<PageContent>> {
  const shownCheckout = await viewCheckout(context, { storeId: view.storeId, checkoutId: view.id });
  if (!shownCheckout.ok) return shownCheckout;
  const fullStory = readStory(context, shownCheckout.value);
  const { checkout, checkoutCount } = fullStory;
  const next = nextCommands(checkout, fullStory.story.deliveries);
  const statusNote = EXPLAIN_SENTENCES.statusNotes[checkout.status];
  const command = explainCommand(context, checkout, checkoutCount);
  const main = html`<section class="checkout-head">
      <p class="row sum">
        ${amountHtml(checkout)} <span>${PAYMENT_TEXTS.method[checkout.paymentMethod]}</span>
        ${statusBadge(checkout.status)}
        ${lastChangeHtml(view, lastChangeOf(context.store, checkout), shownCheckout.value.now)}
      </p>
      ${statusNote === undefined ? "" : html`<p class="hint">${statusNote}</p>`}
      ${factList(termFacts(context, view, { checkout, command, checkoutCount }))}
    </section>
    ${view.isSaved === true ? "" : html`${payerActions(view, shownCheckout.value)} ${saveLink(view)}`}
    ${timeline(context, view, { fullStory, command })}
    ${
      next.length === 0
        ? ""
        : html`<section>
            <h2>${CHECKOUTS_TEXTS.next}</h2>
            <ul class="commands">
              ${next.map((item) => html`<li>${copyableText(item)}</li>`)}
            </ul>
          </section>`
    }`;
  return accept({ title: displayText(checkout.orderId), main, liveTopic: "checkout" });
}

function payerActions(view: PartView, checkoutView: CheckoutView): Html {
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

function saveLink(view: PartView): Html {
  const address = storePath(view, `/checkouts/${view.id}/story.html`);
  return html`<p><a class="plain" href="${address}" download>${CHECKOUTS_TEXTS.save}</a></p>`;
}

type Row = FactRows[number];

function termFacts(
  { checkoutOrigin }: OperationContext,
  view: PartView,
  story: { readonly checkout: Checkout; readonly command: string; readonly checkoutCount: number },
): FactRows {
  const { checkout, command, checkoutCount } = story;
  const { id, object, orderId, description, priceId, createdAt, expiresAt } = checkout;
  const orderLink = linkUnlessSaved(
    view,
    listUrl(view, "/checkouts", { q: orderId }),
    CHECKOUTS_TEXTS.allOfOrder(String(checkoutCount)),
  );
  const pageUrl = checkoutUrl(checkout, checkoutOrigin);
  const paymentPage =
    view.isSaved === true
      ? html`<code>${pageUrl}</code>`
      : html`<a href="${pageUrl}" target="_blank" rel="noopener"
          >${CHECKOUTS_TEXTS.openPage} <span aria-hidden="true">↗</span></a
        >`;
  const shownFields = {
    id: [COMMON_TEXTS.id, copyableText(id)],
    object: [COMMON_TEXTS.kind, CHECKOUTS_TEXTS.kinds[object]],
    order_id: checkoutCount === 1 ? HIDDEN_FIELD : [PAYMENT_TEXTS.order, orderLink],
    amount_minor: HIDDEN_FIELD,
    currency: HIDDEN_FIELD,
    status: HIDDEN_FIELD,
    description: description === null ? HIDDEN_FIELD : [PAYMENT_TEXTS.description, merchantText(description)],
    price: priceId === null ? HIDDEN_FIELD : [COMMON_TEXTS.price, html`<code>${displayText(priceId)}</code>`],
    created: [COMMON_TEXTS.created, momentWithDate(createdAt)],
    expires: [CHECKOUTS_TEXTS.expires, momentWithDate(expiresAt)],
    // Hidden from viewers who may not pay, because everyone who opens the payment page can pay.
    checkout_url: view.may("POST", storePath(view, `/checkouts/${id}/pay`))
      ? [CHECKOUTS_TEXTS.paymentPage, paymentPage]
      : HIDDEN_FIELD,
    livemode: HIDDEN_FIELD,
    command: [COMMON_TEXTS.inTerminal, copyableText(command)],
  } satisfies FieldDisplay<Row> & Readonly<Record<string, Row | typeof HIDDEN_FIELD>>;
  return visibleValues<Row>(shownFields);
}

function explainCommand(
  { store }: OperationContext,
  { id, orderId, storeId }: Checkout,
  checkoutCount: number,
): string {
  const isPlain = /^[\w.:@][\w.:@-]*$/.test(orderId) && checkoutCount === 1;
  const storeOption = store.stores.first()?.id === storeId ? "" : ` --store ${storeId}`;
  return `checkout explain ${isPlain ? orderId : id}${storeOption}`;
}
