import { isFinal, MAX_ATTEMPTS } from "../../../core/checkout/payment.ts";
import type { Attempt } from "../../../core/control/checkout.ts";
import { html, type Html } from "../../../web/html.ts";
import { layout, liveMain } from "../shared/layout.ts";
import {
  amount,
  button,
  checkoutPath,
  methodMark,
  price,
  quoted,
  stateInWords,
  walletPath,
  wasPaidLate,
  type PageContext,
} from "./parts.ts";

/** The outcomes that the wallet's buttons send. */
export const WALLET_OUTCOMES = ["succeeded", "declined", "failed", "cancelled", "late"] as const;
export type WalletOutcome = (typeof WALLET_OUTCOMES)[number];

/** The payer's wallet for one attempt: a button for every outcome, or the result. */
export function walletPage(context: PageContext, attempt: Attempt): string {
  const { view, language } = context;
  const open = isOpen(context, attempt);
  const content = html`<section class="card wallet ${view.checkout.paymentMethod}">
    ${walletHead(context)} ${open ? choices(context, attempt) : ending(context, attempt)}
  </section>`;
  const address = walletPath(view.checkout, attempt.number);
  const main = liveMain(context, {
    state: stateInWords(context),
    address,
    isOver: !open,
    style: "single",
    content,
  });
  return layout(language, { title: `${walletName(context)} · ${price(context)}`, main });
}

/** The page after the payer closed the wallet and did nothing; the wallet itself if the attempt is over. */
export function walkedAwayPage(context: PageContext, attempt: Attempt): string {
  if (!isOpen(context, attempt)) return walletPage(context, attempt);
  const { view, texts, language } = context;
  const main = html`<main id="page" class="single">
    <section class="card wallet ${view.checkout.paymentMethod}">
      ${walletHead(context)}
      <div class="outcome">
        <h2>${texts.walkedAway}</h2>
        <p class="hint">${texts.walkedAwayHint}</p>
      </div>
      <a class="primary" href="${checkoutPath(view.checkout)}">${texts.backToCheckout}</a>
      <a class="plain" href="${walletPath(view.checkout, attempt.number)}">${texts.backToWallet}</a>
    </section>
  </main>`;
  return layout(language, { title: `${texts.walkedAway} · ${walletName(context)}`, main });
}

function isOpen({ view }: PageContext, { outcome }: Attempt): boolean {
  return outcome === null && !isFinal(view.checkout.status);
}

function walletHead(context: PageContext): Html {
  const { view, texts } = context;
  return html`<h1>${methodMark(context)} <span>${walletName(context)}</span></h1>
    <p class="payee">${texts.payee} <strong>${view.names.store}</strong></p>
    <p class="amount">${amount(context)}</p>
    <p class="hint">${quoted(view.checkout.description ?? view.checkout.orderId)}</p>`;
}

function walletName({ view, texts }: PageContext): string {
  return texts.wallet[view.checkout.paymentMethod];
}

function choices(context: PageContext, attempt: Attempt): Html {
  const { texts, view } = context;
  const path = walletPath(view.checkout, attempt.number);
  const choice = (outcome: WalletOutcome, label: string, hint: string): Html =>
    button(context, {
      action: path,
      label: html`<strong>${label}</strong> <span>${hint}</span>`,
      style: "choice",
      fields: { outcome },
    });
  const confirm = html`${texts.confirm} ${amount(context)}`;
  return html`${button(context, { action: path, label: confirm, style: "primary", fields: { outcome: "succeeded" } })}
    <h2>${texts.otherwise}</h2>
    <div class="choices">
      ${choice("declined", texts.decline, texts.declineHint)} ${choice("failed", texts.fail, texts.failHint)}
      ${choice("cancelled", texts.cancelInWallet, texts.cancelHint)}
      ${choice("late", texts.tooLate, texts.tooLateHint)}
      <a class="choice" href="${path}/closed"
        ><strong>${texts.walkAway}</strong> <span>${texts.walkAwayHint}</span></a
      >
    </div>`;
}

/** The result of an attempt that is over. A confirmation can still come, but too late. */
function ending(context: PageContext, attempt: Attempt): Html {
  const { texts, view } = context;
  const { checkout } = view;
  const late = wasPaidLate(view);
  const offersLate = attempt.outcome !== "succeeded" && isFinal(checkout.status) && !late;
  const { heading, hint } = wordsAfter(context, attempt);
  return html`<div class="outcome">
      <h2>${heading}</h2>
      ${late ? html`<p class="notice warn">${texts.late}</p>` : html`<p class="hint">${hint}</p>`}
    </div>
    <a class="primary" href="${checkoutPath(checkout)}">${texts.backToCheckout}</a>
    ${offersLate ? button(context, { action: walletPath(checkout, attempt.number), label: texts.payAnyway, style: "plain", fields: { outcome: "late" } }) : ""}`;
}

/** A declined attempt ends the checkout only if it was the last one; every other result ends the checkout. */
function wordsAfter(
  { view, texts }: PageContext,
  { outcome }: Attempt,
): { readonly heading: string; readonly hint: string } {
  const { checkout, attempts } = view;
  if (!isFinal(checkout.status)) {
    const another = attempts.some((one) => one.outcome === null);
    const hint = another ? texts.triesAgain : texts.tryAgain(MAX_ATTEMPTS - attempts.length);
    return { heading: texts.walletDeclined, hint };
  }
  const result = texts.result[checkout.status];
  return outcome === "declined"
    ? { heading: texts.walletDeclined, hint: result }
    : { heading: result, hint: texts.resultHint[checkout.status] };
}
