import { isFinal, MAX_ATTEMPTS, type Attempt } from "../../core/payment.ts";
import { html, type Html } from "../../web/html.ts";
import { layout, live } from "./layout.ts";
import {
  button,
  checkoutPath,
  methodMark,
  price,
  walletPath,
  wasPaidLate,
  type PageContext,
} from "./parts.ts";
import type { Texts } from "./texts.ts";

/** What the buttons of the wallet say to the service. */
export const WALLET_OUTCOMES = ["succeeded", "declined", "failed", "cancelled", "late"] as const;
export type WalletOutcome = (typeof WALLET_OUTCOMES)[number];

/** The payer's wallet for one attempt: every way that a payment can go, or what became of it. */
export function walletPage(context: PageContext, attempt: Attempt): string {
  const { view, texts } = context;
  const open = attempt.outcome === null && !isFinal(view.checkout.status);
  const main = html`<main
    ${live(walletPath(view.checkout, attempt.number), { isOver: !open })}
    class="single"
  >
    <section class="card wallet ${view.checkout.paymentMethod}">
      ${walletHead(context)} ${open ? choices(context, attempt) : outcome(context, attempt)}
    </section>
  </main>`;
  return layout(texts, { title: `${walletName(context)} · ${price(context)}`, main });
}

/** What a payer sees who closed the wallet and did nothing. */
export function walkedAwayPage(context: PageContext, attempt: Attempt): string {
  const { view, texts } = context;
  const main = html`<main id="page" class="single">
    <section class="card wallet ${view.checkout.paymentMethod}">
      ${walletHead(context)}
      <h2>${texts.walkedAway}</h2>
      <p class="hint">${texts.walkedAwayHint}</p>
      <a class="primary" href="${checkoutPath(view.checkout)}">${texts.backToCheckout}</a>
      <a class="plain" href="${walletPath(view.checkout, attempt.number)}">${texts.backToWallet}</a>
    </section>
  </main>`;
  return layout(texts, { title: `${texts.walkedAway} · ${walletName(context)}`, main });
}

function walletHead(context: PageContext): Html {
  const { view, texts } = context;
  return html`<h1>${methodMark(context)} ${walletName(context)}</h1>
    <p class="payee">${texts.payee} <strong>${view.names.store}</strong></p>
    <p class="amount">${price(context)}</p>
    <p class="hint"><bdi>${view.checkout.description ?? view.checkout.orderId}</bdi></p>`;
}

function walletName({ view, texts }: PageContext): string {
  return texts.wallet(texts.method[view.checkout.paymentMethod]);
}

function choices(context: PageContext, attempt: Attempt): Html {
  const { texts, view } = context;
  const path = walletPath(view.checkout, attempt.number);
  const choice = (wanted: WalletOutcome, label: string, hint: string): Html =>
    button(context, {
      action: path,
      label: html`<strong>${label}</strong> <span>${hint}</span>`,
      style: "choice",
      fields: { outcome: wanted },
    });
  return html`${button(context, { action: path, label: texts.confirm(price(context)), style: "primary", fields: { outcome: "succeeded" } })}
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

/** The attempt is over. A confirmation can still come, and is too late then. */
function outcome(context: PageContext, attempt: Attempt): Html {
  const { texts, view } = context;
  const { checkout } = view;
  const late = wasPaidLate(view);
  const offersLate = attempt.outcome !== "succeeded" && isFinal(checkout.status) && !late;
  return html`<div class="outcome" role="status">
      <h2>${said(texts, attempt)}</h2>
      <p class="hint">${hintAfter(context)}</p>
    </div>
    ${late ? html`<p class="notice warn">${texts.late}</p>` : ""}
    <a class="primary" href="${checkoutPath(checkout)}">${texts.backToCheckout}</a>
    ${offersLate ? button(context, { action: walletPath(checkout, attempt.number), label: texts.payAnyway, style: "plain", fields: { outcome: "late" } }) : ""}`;
}

/** What became of the checkout, or how often the payer can still try. */
function hintAfter({ view, texts }: PageContext): string {
  const { status } = view.checkout;
  if (status !== "created" && status !== "pending") return texts.result[status];
  const isOpen = view.attempts.some(({ outcome: how }) => how === null);
  return isOpen ? texts.waiting : texts.triesLeft(MAX_ATTEMPTS - view.attempts.length);
}

function said(texts: Texts, { outcome: how }: Attempt): string {
  return texts.walletResult[how ?? "abandoned"];
}
