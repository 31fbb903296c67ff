import { renderSVG } from "uqr";
import { isFinal, MAX_PAYMENT_ATTEMPTS, type FinalStatus } from "../../../core/checkout/payment.ts";
import { returnAddress } from "../../../core/checkout/return-origin.ts";
import { isLoopback } from "../../../core/loopback.ts";
import { html, joinTexts, trustMarkup, type Html } from "../../../web/html.ts";
import type { Words } from "../../../core/language.ts";
import { factRow, merchantText } from "../shared/layout.ts";
import {
  amountHtml,
  formButton,
  checkoutPath,
  livePage,
  paymentMethodIcon,
  momentHtml,
  paidAt,
  timeLeftText,
  walletPath,
  wasPaidLate,
  type CheckoutPageContext,
} from "./parts.ts";
import { PAYMENT_TEXTS } from "./texts.ts";

export const STAY_QUERY = "stay";
const COUNTDOWN_S = 5;
const REDIRECT_WINDOW_MS = 60_000;

export function checkoutPage(context: CheckoutPageContext): Html {
  const { checkout, names } = context.view;
  const { status } = checkout;
  const address = `${checkoutPath(checkout)}${context.isStaying ? `?${STAY_QUERY}` : ""}`;
  if (isFinal(status)) {
    const content = resultCard(context, status);
    const title = PAYMENT_TEXTS.result[status];
    return livePage(context, { title, address, isOver: true, style: "single", content });
  }
  const content = html`${orderSummary(context)}${paymentCard(context)}`;
  const title = PAYMENT_TEXTS.payTo(names.store);
  return livePage(context, { title, address, isOver: false, style: "checkout", content });
}

function orderSummary(context: CheckoutPageContext): Html {
  const { view } = context;
  const { checkout, names } = view;
  const [initial = ""] = names.store;
  const time = html`<span role="timer" aria-live="off">${timeLeftText(context)}</span
    >${view.isClockFrozen ? html`<small>${PAYMENT_TEXTS.clockFrozen}</small>` : ""}`;
  return html`<section class="summary">
    <div class="merchant">
      <span class="avatar" aria-hidden="true">${initial}</span>
      <div>
        <h1>${PAYMENT_TEXTS.payTo(names.store)}</h1>
        <p>${PAYMENT_TEXTS.soldBy(names.merchant)}</p>
      </div>
    </div>
    <p class="amount">${amountHtml(context)}</p>
    ${checkout.description === null ? "" : html`<p class="description">${merchantText(checkout.description)}</p>`}
    <dl>
      ${factRow(PAYMENT_TEXTS.order, merchantText(checkout.orderId))} ${factRow(PAYMENT_TEXTS.timeLeft, time)}
    </dl>
  </section>`;
}

function paymentCard(context: CheckoutPageContext): Html {
  const { view } = context;
  const openAttempt = view.attempts.find(({ outcome }) => outcome === null);
  const path = checkoutPath(view.checkout);
  return html`<section class="card">
    ${openAttempt === undefined ? startStep(context) : scanStep(context, openAttempt.number)}
    ${cancelStep(context, `${path}/cancel`)}
    ${returnLink(context, { style: "quiet", label: PAYMENT_TEXTS.returnUnpaid(view.names.store) })}
    ${developerNotes(context)}
  </section>`;
}

function cancelStep(context: CheckoutPageContext, action: string): Html {
  return html`<details class="ask">
    <summary>${PAYMENT_TEXTS.cancel}</summary>
    <p class="hint">${PAYMENT_TEXTS.cancelAsk}</p>
    ${formButton(context, { action, label: PAYMENT_TEXTS.cancelSure, style: "plain" })}
  </details>`;
}

function startStep(context: CheckoutPageContext): Html {
  const { view } = context;
  const { paymentMethod } = view.checkout;
  const attemptCount = view.attempts.length;
  const settlementText = view.isClockFrozen ? PAYMENT_TEXTS.settlesFrozen : PAYMENT_TEXTS.settlesSoon;
  return html`<h2>${PAYMENT_TEXTS.paymentMethod}</h2>
    ${attemptCount === 0 ? "" : html`<p class="notice warn">${PAYMENT_TEXTS.declined(MAX_PAYMENT_ATTEMPTS - attemptCount)}</p>`}
    ${view.isAutomatic ? html`<p class="notice">${settlementText}</p>` : ""}
    <p class="method">${paymentMethodIcon(context)} <span>${PAYMENT_TEXTS.method[paymentMethod]}</span></p>
    ${formButton(context, { action: `${checkoutPath(view.checkout)}/start`, label: PAYMENT_TEXTS.payWith[paymentMethod], style: "primary" })}
    <p class="hint">${PAYMENT_TEXTS.startHint[paymentMethod]}</p>`;
}

function scanStep(context: CheckoutPageContext, attempt: number): Html {
  const { view, origin } = context;
  const path = walletPath(view.checkout, attempt);
  const { paymentMethod } = view.checkout;
  return html`<h2 class="elsewhere">${PAYMENT_TEXTS.scan[paymentMethod]}</h2>
    <h2 class="on-phone">${PAYMENT_TEXTS.payWith[paymentMethod]}</h2>
    <div class="qr elsewhere" role="img" aria-label="${PAYMENT_TEXTS.qrName}">
      ${qrCode(`${origin}${path}`)}
    </div>
    ${
      isLoopback(new URL(origin).hostname)
        ? html`<p class="notice warn elsewhere">${PAYMENT_TEXTS.noPhone}</p>`
        : html`<p class="hint elsewhere">${PAYMENT_TEXTS.scanHint}</p>`
    }
    <a class="primary" href="${path}">${PAYMENT_TEXTS.openWallet}</a>
    <p class="waiting">${PAYMENT_TEXTS.updatesItself}</p>
    <noscript
      ><a class="plain" href="${checkoutPath(view.checkout)}">${PAYMENT_TEXTS.checkAgain}</a></noscript
    >`;
}

/** Dark on light in every theme, and with a quiet zone (`border`), because scanners need both. */
function qrCode(address: string): Html {
  return trustMarkup(renderSVG(address, { ecc: "M", border: 4, whiteColor: "#fff", blackColor: "#000" }));
}

function resultCard(context: CheckoutPageContext, status: FinalStatus): Html {
  const { view } = context;
  const { checkout, names } = view;
  const time = paidAt(view);
  return html`<section class="card result ${status}">
    <span class="icon" aria-hidden="true"></span>
    <h1>${PAYMENT_TEXTS.result[status]}</h1>
    <p class="amount">${amountHtml(context)}</p>
    ${
      wasPaidLate(view)
        ? html`<p class="notice warn">${PAYMENT_TEXTS.late}</p>`
        : html`<p class="hint">${PAYMENT_TEXTS.resultHint[status]}</p>`
    }
    <dl>
      ${factRow(status === "succeeded" ? PAYMENT_TEXTS.paidTo : PAYMENT_TEXTS.shop, names.store)}
      ${factRow(PAYMENT_TEXTS.order, merchantText(checkout.orderId))}
      ${checkout.description === null ? "" : factRow(PAYMENT_TEXTS.description, merchantText(checkout.description))}
      ${factRow(PAYMENT_TEXTS.paymentMethod, PAYMENT_TEXTS.method[checkout.paymentMethod])}
      ${time === undefined ? "" : factRow(PAYMENT_TEXTS.paidOn, momentHtml(time))}
      ${time === undefined ? "" : factRow(PAYMENT_TEXTS.reference, html`<code>${checkout.id}</code>`)}
    </dl>
    ${returnLink(context, { style: "primary", label: PAYMENT_TEXTS.returnTo(names.store) })}
    ${redirectElement(context)} ${developerNotes(context)}
  </section>`;
}

function returnLink(
  { view }: CheckoutPageContext,
  { style, label }: { readonly style: "primary" | "quiet"; readonly label: Words },
): Html {
  const { checkout, returnOrigin } = view;
  if (returnOrigin === null) return html``;
  return html`<a class="${style}" href="${returnAddress(returnOrigin, checkout)}">${label}</a>`;
}

function redirectElement({ view, isStaying }: CheckoutPageContext): Html {
  const { checkout, returnOrigin, names, now } = view;
  const time = paidAt(view);
  if (returnOrigin === null || isStaying || time === undefined || now - time > REDIRECT_WINDOW_MS)
    return html``;
  const seconds = html`<span data-seconds>${String(COUNTDOWN_S)}</span>`;
  return html`<send-back href="${returnAddress(returnOrigin, checkout)}" seconds="${String(COUNTDOWN_S)}">
    <p class="hint" role="timer" aria-live="off">${PAYMENT_TEXTS.sentBack(names.store, seconds)}</p>
    <a class="plain" href="${checkoutPath(checkout)}?${STAY_QUERY}">${PAYMENT_TEXTS.stay}</a>
  </send-back>`;
}

function developerNotes({ view, token }: CheckoutPageContext): Html {
  const { checkout, attempts, lateResults, returnOrigin } = view;
  const attemptTexts = attempts.map(
    ({ number, outcome }) => html`${String(number)}: ${PAYMENT_TEXTS.outcome[outcome ?? "open"]}`,
  );
  const lateTexts = lateResults.map(
    ({ attempt, result: outcome }) => html`${String(attempt)}: ${PAYMENT_TEXTS.outcome[outcome]}`,
  );
  return html`<details class="notes">
    <summary>${PAYMENT_TEXTS.forDevelopers}</summary>
    <page-views hidden to="${checkoutPath(checkout)}/views" token="${token}"></page-views>
    <dl>
      ${factRow(PAYMENT_TEXTS.checkoutId, html`<code>${checkout.id}</code>`)}
      ${factRow(PAYMENT_TEXTS.status, html`<code>${checkout.status}</code>`)}
      ${factRow(PAYMENT_TEXTS.attempts, attemptTexts.length === 0 ? PAYMENT_TEXTS.noAttempts : joinTexts(attemptTexts))}
      ${lateTexts.length === 0 ? "" : factRow(PAYMENT_TEXTS.lateResults, joinTexts(lateTexts))}
    </dl>
    ${
      returnOrigin === null
        ? html`<p class="hint">
            ${PAYMENT_TEXTS.noReturn}<br /><code>checkout return-origins add http://localhost:3000</code>
          </p>`
        : ""
    }
    ${isFinal(checkout.status) ? "" : html`<p class="hint">${PAYMENT_TEXTS.onPhone}</p>`}
  </details>`;
}
