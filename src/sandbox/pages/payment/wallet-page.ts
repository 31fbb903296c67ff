import { displayStoreName } from "../../../core/config/store-name.ts";
import { isFinal, MAX_PAYMENT_ATTEMPTS } from "../../../core/checkout/payment.ts";
import { html, type Html } from "../../../web/html.ts";
import type { Words } from "../../../core/language.ts";
import { payerLayout, merchantText } from "../shared/layout.ts";
import { SHARED_TEXTS } from "../shared/texts.ts";
import {
  amountHtml,
  formButton,
  checkoutPath,
  livePage,
  paymentMethodIcon,
  walletPath,
  wasPaidLate,
  type CheckoutPageContext,
} from "./parts.ts";
import { PAYMENT_TEXTS } from "./texts.ts";
import type { Attempt } from "../../../core/checkout/shapes.ts";

export const WALLET_OUTCOMES = ["succeeded", "declined", "failed", "cancelled", "late"] as const;
type WalletOutcome = (typeof WALLET_OUTCOMES)[number];

export function walletPage(context: CheckoutPageContext, attempt: Attempt): Html {
  const { view } = context;
  const isOpen = isAttemptOpen(context, attempt);
  const content = html`<section class="card wallet ${view.checkout.paymentMethod}">
    ${walletHead(context)} ${isOpen ? choiceButtons(context, attempt) : resultPart(context, attempt)}
  </section>`;
  const address = walletPath(view.checkout, attempt.number);
  return livePage(context, {
    title: walletName(context),
    address,
    isOver: !isOpen,
    style: "single",
    content,
  });
}

export function abandonedPage(context: CheckoutPageContext, attempt: Attempt): Html {
  if (!isAttemptOpen(context, attempt)) return walletPage(context, attempt);
  const { view } = context;
  const main = html`<main id="page" class="single">
    <section class="card wallet ${view.checkout.paymentMethod}">
      ${walletHead(context)}
      <div class="outcome">
        <h2>${PAYMENT_TEXTS.walkedAway}</h2>
        <p class="hint">${PAYMENT_TEXTS.walkedAwayHint}</p>
      </div>
      <a class="primary" href="${checkoutPath(view.checkout)}">${SHARED_TEXTS.backToCheckout}</a>
      <a class="plain" href="${walletPath(view.checkout, attempt.number)}">${PAYMENT_TEXTS.backToWallet}</a>
    </section>
  </main>`;
  return payerLayout({ title: html`${PAYMENT_TEXTS.walkedAway} · ${walletName(context)}`, main });
}

function isAttemptOpen({ view }: CheckoutPageContext, { outcome }: Attempt): boolean {
  return outcome === null && !isFinal(view.checkout.status);
}

function walletHead(context: CheckoutPageContext): Html {
  const { view } = context;
  return html`<h1>${paymentMethodIcon(context)} <span>${walletName(context)}</span></h1>
    <p class="payee">${PAYMENT_TEXTS.payee} <strong>${displayStoreName(view.names.store)}</strong></p>
    <p class="amount">${amountHtml(context)}</p>
    <p class="hint">${merchantText(view.checkout.description ?? view.checkout.orderId)}</p>`;
}

function walletName({ view }: CheckoutPageContext): Words {
  return PAYMENT_TEXTS.wallet[view.checkout.paymentMethod];
}

function choiceButtons(context: CheckoutPageContext, attempt: Attempt): Html {
  const { view } = context;
  const path = walletPath(view.checkout, attempt.number);
  const choice = (outcome: WalletOutcome, label: Words, hint: Words): Html =>
    formButton(context, {
      action: path,
      label: html`<strong>${label}</strong> <span>${hint}</span>`,
      style: "choice",
      fields: { outcome },
    });
  const confirmLabel = html`${PAYMENT_TEXTS.confirm} ${amountHtml(context)}`;
  return html`${formButton(context, { action: path, label: confirmLabel, style: "primary", fields: { outcome: "succeeded" } })}
    <h2>${PAYMENT_TEXTS.otherwise}</h2>
    <div class="choices">
      ${choice("declined", PAYMENT_TEXTS.decline, PAYMENT_TEXTS.declineHint)}
      ${choice("failed", PAYMENT_TEXTS.fail, PAYMENT_TEXTS.failHint)}
      ${choice("cancelled", PAYMENT_TEXTS.cancelInWallet, PAYMENT_TEXTS.cancelHint)}
      ${choice("late", PAYMENT_TEXTS.tooLate, PAYMENT_TEXTS.tooLateHint)}
      <a class="choice" href="${path}/closed"
        ><strong>${PAYMENT_TEXTS.walkAway}</strong> <span>${PAYMENT_TEXTS.walkAwayHint}</span></a
      >
    </div>`;
}

function resultPart(context: CheckoutPageContext, attempt: Attempt): Html {
  const { view } = context;
  const { checkout } = view;
  const isPaidLate = wasPaidLate(view);
  const canPayLate = attempt.outcome !== "succeeded" && isFinal(checkout.status) && !isPaidLate;
  const { heading, hint } = resultWords(context, attempt);
  return html`<div class="outcome">
      <h2>${heading}</h2>
      ${isPaidLate ? html`<p class="notice warn">${PAYMENT_TEXTS.late}</p>` : html`<p class="hint">${hint}</p>`}
    </div>
    <a class="primary" href="${checkoutPath(checkout)}">${SHARED_TEXTS.backToCheckout}</a>
    ${canPayLate ? formButton(context, { action: walletPath(checkout, attempt.number), label: PAYMENT_TEXTS.payAnyway, style: "plain", fields: { outcome: "late" } }) : ""}`;
}

/** A declined attempt ends the checkout only if it was the last attempt; every other result ends the checkout. */
function resultWords(
  { view }: CheckoutPageContext,
  { outcome }: Attempt,
): { readonly heading: Words; readonly hint: Words } {
  const { checkout, attempts } = view;
  if (!isFinal(checkout.status)) {
    const hasOpenAttempt = attempts.some((attempt) => attempt.outcome === null);
    const hint = hasOpenAttempt
      ? PAYMENT_TEXTS.newAttempt
      : PAYMENT_TEXTS.tryAgain(MAX_PAYMENT_ATTEMPTS - attempts.length);
    return { heading: PAYMENT_TEXTS.walletDeclined, hint };
  }
  const result = PAYMENT_TEXTS.result[checkout.status];
  return outcome === "declined"
    ? { heading: PAYMENT_TEXTS.walletDeclined, hint: result }
    : { heading: result, hint: PAYMENT_TEXTS.resultHint[checkout.status] };
}
