import { renderSVG } from "uqr";
import { isFinal, MAX_ATTEMPTS, type FinalStatus } from "../../../core/checkout/payment.ts";
import { returnAddress } from "../../../core/checkout/return-origin.ts";
import { html, trusted, type Html } from "../../../web/html.ts";
import { layout, liveMain, row } from "../shared/layout.ts";
import {
  amount,
  button,
  checkoutPath,
  methodMark,
  moment,
  paidAt,
  price,
  quoted,
  stateInWords,
  timeLeft,
  walletPath,
  wasPaidLate,
  type PageContext,
} from "./parts.ts";

/** The query that a customer who stays is sent to. */
export const STAY = "stay";
const SECONDS_TO_STAY = 5;
const SENT_BACK_WITHIN_MS = 60_000;

/** The page at `checkout_url`: what is to be paid, the next step, and at the end the result. */
export function checkoutPage(context: PageContext): string {
  const { view, texts, language } = context;
  const { status } = view.checkout;
  const address = `${checkoutPath(view.checkout)}${context.stays ? `?${STAY}` : ""}`;
  const titled = (title: string): string => `${title} · ${price(context)}`;
  if (isFinal(status)) {
    const content = result(context, status);
    const main = liveMain(context, {
      state: stateInWords(context),
      address,
      isOver: true,
      style: "single",
      content,
    });
    return layout(language, { title: titled(texts.result[status]), main });
  }
  const content = html`${summary(context)}${payment(context)}`;
  const main = liveMain(context, {
    state: stateInWords(context),
    address,
    isOver: false,
    style: "checkout",
    content,
  });
  return layout(language, { title: titled(texts.payTo(view.names.store)), main });
}

function summary(context: PageContext): Html {
  const { view, texts } = context;
  const { checkout, names } = view;
  const time = html`<span role="timer" aria-live="off">${timeLeft(context)}</span
    >${view.clockStands ? html`<small>${texts.clockStands}</small>` : ""}`;
  return html`<section class="summary">
    <div class="merchant">
      <span class="avatar" aria-hidden="true">${initial(names.store)}</span>
      <div>
        <h1>${texts.payTo(names.store)}</h1>
        <p>${texts.soldBy(names.merchant)}</p>
      </div>
    </div>
    <p class="amount">${amount(context)}</p>
    ${checkout.description === null ? "" : html`<p class="description">${quoted(checkout.description)}</p>`}
    <dl>${row(texts.order, quoted(checkout.orderId))} ${row(texts.timeLeft, time)}</dl>
  </section>`;
}

function initial(name: string): string {
  return Array.from(name)[0] ?? "";
}

/** The next step: start an attempt, or scan the code of the open one. */
function payment(context: PageContext): Html {
  const { view, texts } = context;
  const open = view.attempts.find(({ outcome }) => outcome === null);
  const path = checkoutPath(view.checkout);
  return html`<section class="card">
    ${open === undefined ? startStep(context) : scanStep(context, open.number)}
    ${cancelStep(context, `${path}/cancel`)}
    ${returnLink(context, { style: "quiet", label: texts.returnUnpaid(view.names.store) })}
    ${developerNotes(context)}
  </section>`;
}

/** Asks once, without script too. */
function cancelStep(context: PageContext, action: string): Html {
  const { texts } = context;
  return html`<details class="ask">
    <summary>${texts.cancel}</summary>
    <p class="hint">${texts.cancelAsk}</p>
    ${button(context, { action, label: texts.cancelSure, style: "plain" })}
  </details>`;
}

function startStep(context: PageContext): Html {
  const { view, texts } = context;
  const { paymentMethod } = view.checkout;
  const tried = view.attempts.length;
  const settles = view.clockStands ? texts.settlesFrozen : texts.settlesItself;
  return html`<h2>${texts.paymentMethod}</h2>
    ${tried === 0 ? "" : html`<p class="notice warn">${texts.declined(MAX_ATTEMPTS - tried)}</p>`}
    ${view.settlesItself ? html`<p class="notice">${settles}</p>` : ""}
    <p class="method">${methodMark(context)} <span>${texts.method[paymentMethod]}</span></p>
    ${button(context, { action: `${checkoutPath(view.checkout)}/start`, label: texts.payWith[paymentMethod], style: "primary" })}
    <p class="hint">${texts.startHint[paymentMethod]}</p>`;
}

/** Without script the page does not update, and must not say that it does. */
function scanStep(context: PageContext, attempt: number): Html {
  const { view, texts, origin } = context;
  const path = walletPath(view.checkout, attempt);
  const { paymentMethod } = view.checkout;
  return html`<h2 class="elsewhere">${texts.scan[paymentMethod]}</h2>
    <h2 class="on-phone">${texts.payWith[paymentMethod]}</h2>
    <div class="qr elsewhere" role="img" aria-label="${texts.qrName}">${qrCode(`${origin}${path}`)}</div>
    <p class="hint elsewhere">${texts.scanHint}</p>
    <a class="primary" href="${path}">${texts.openWallet}</a>
    <p class="waiting">${texts.updatesItself}</p>
    <noscript><a class="plain" href="${checkoutPath(view.checkout)}">${texts.checkAgain}</a></noscript>`;
}

/** Dark on light in every theme, with the quiet zone that readers need. */
function qrCode(address: string): Html {
  return trusted(renderSVG(address, { ecc: "M", border: 4, whiteColor: "#fff", blackColor: "#000" }));
}

function result(context: PageContext, status: FinalStatus): Html {
  const { view, texts } = context;
  const { checkout, names } = view;
  const paid = paidAt(view);
  return html`<section class="card result ${status}">
    <span class="icon" aria-hidden="true"></span>
    <h1>${texts.result[status]}</h1>
    <p class="amount">${amount(context)}</p>
    ${
      wasPaidLate(view)
        ? html`<p class="notice warn">${texts.late}</p>`
        : html`<p class="hint">${texts.resultHint[status]}</p>`
    }
    <dl>
      ${row(status === "succeeded" ? texts.paidTo : texts.shop, names.store)}
      ${row(texts.order, quoted(checkout.orderId))}
      ${checkout.description === null ? "" : row(texts.description, quoted(checkout.description))}
      ${row(texts.paymentMethod, texts.method[checkout.paymentMethod])}
      ${paid === undefined ? "" : row(texts.paidOn, moment(context, paid))}
      ${paid === undefined ? "" : row(texts.reference, html`<code>${checkout.id}</code>`)}
    </dl>
    ${returnLink(context, { style: "primary", label: texts.returnTo(names.store) })} ${sendBack(context)}
    ${developerNotes(context)}
  </section>`;
}

/** A plain link: a return changes nothing, and says nothing about the payment (decision 19). */
function returnLink(
  { view }: PageContext,
  { style, label }: { readonly style: "primary" | "quiet"; readonly label: string },
): Html {
  const { checkout, returnOrigin } = view;
  if (returnOrigin === null) return html``;
  return html`<a class="${style}" href="${returnAddress(returnOrigin, checkout)}">${label}</a>`;
}

/**
 * After a payment the customer goes back without a click, and can stay. Who opens the page later stays. Without script
 * nothing moves, and the page does not say so.
 */
function sendBack({ view, texts, stays }: PageContext): Html {
  const { checkout, returnOrigin, names, now } = view;
  const paid = paidAt(view);
  if (returnOrigin === null || stays || paid === undefined || now - paid > SENT_BACK_WITHIN_MS) return html``;
  const seconds = html`<span data-seconds>${String(SECONDS_TO_STAY)}</span>`;
  return html`<send-back href="${returnAddress(returnOrigin, checkout)}" seconds="${String(SECONDS_TO_STAY)}">
    <p class="hint" role="timer" aria-live="off">${texts.sentBack(names.store, seconds)}</p>
    <a class="plain" href="${checkoutPath(checkout)}?${STAY}">${texts.stay}</a>
  </send-back>`;
}

/** Details for the merchant's developer, collapsed. */
function developerNotes({ view, texts, token }: PageContext): Html {
  const { checkout, attempts, lateResults, returnOrigin } = view;
  const tries = attempts.map(({ number, outcome }) => `${number}: ${texts.outcome[outcome ?? "open"]}`);
  const late = lateResults.map(({ attempt, result: came }) => `${attempt}: ${texts.outcome[came]}`);
  return html`<details class="notes">
    <summary>${texts.forDevelopers}</summary>
    <page-views hidden to="${checkoutPath(checkout)}/views" token="${token}"></page-views>
    <dl>
      ${row(texts.checkoutId, html`<code>${checkout.id}</code>`)}
      ${row(texts.status, html`<code>${checkout.status}</code>`)}
      ${row(texts.attempts, tries.length === 0 ? texts.noAttempts : tries.join(", "))}
      ${late.length === 0 ? "" : row(texts.lateResults, late.join(", "))}
    </dl>
    ${
      returnOrigin === null
        ? html`<p class="hint">
            ${texts.noReturn}<br /><code>checkout return-origins add http://localhost:3000</code>
          </p>`
        : ""
    }
    ${isFinal(checkout.status) ? "" : html`<p class="hint">${texts.onPhone}</p>`}
  </details>`;
}
