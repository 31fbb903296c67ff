import { renderSVG } from "uqr";
import { isFinal, MAX_ATTEMPTS } from "../../core/payment.ts";
import { returnAddress } from "../../core/return-origin.ts";
import { html, trusted, type Html } from "../../web/html.ts";
import { layout, live } from "./layout.ts";
import {
  button,
  checkoutPath,
  methodMark,
  price,
  timeLeft,
  walletPath,
  wasPaidLate,
  type PageContext,
} from "./parts.ts";

/** The page at `checkout_url`: what is to be paid, the step that comes next, and at the end the result. */
export function checkoutPage(context: PageContext): string {
  const { view, texts } = context;
  const { status } = view.checkout;
  const done = status !== "created" && status !== "pending" ? status : undefined;
  const title = done === undefined ? texts.payTo(view.names.store) : texts.result[done];
  const main =
    done === undefined
      ? html`<main ${live(checkoutPath(view.checkout), { isOver: false })} class="checkout">
          ${summary(context)}${payment(context)}
        </main>`
      : html`<main ${live(checkoutPath(view.checkout), { isOver: true })} class="single">
          ${result(context, done)}
        </main>`;
  return layout(texts, { title: `${title} · ${price(context)}`, main });
}

function summary(context: PageContext): Html {
  const { view, texts } = context;
  const { checkout, names } = view;
  return html`<section class="summary">
    <div class="merchant">
      <span class="avatar" aria-hidden="true">${initial(names.store)}</span>
      <div>
        <h1>${texts.payTo(names.store)}</h1>
        <p>${texts.soldBy(names.merchant)}</p>
      </div>
    </div>
    <p class="amount">${price(context)}</p>
    ${checkout.description === null ? "" : html`<p class="description"><bdi>${checkout.description}</bdi></p>`}
    <dl>
      <div>
        <dt>${texts.order}</dt>
        <dd><bdi>${checkout.orderId}</bdi></dd>
      </div>
      <div>
        <dt>${texts.timeLeft}</dt>
        <dd>
          <span role="timer">${timeLeft(context)}</span
          >${view.clockStands ? html` <small>(${texts.clockStands})</small>` : ""}
        </dd>
      </div>
    </dl>
  </section>`;
}

function initial(name: string): string {
  return Array.from(name)[0] ?? "";
}

/** The step that comes next: start an attempt, or scan the code of the one that is open. */
function payment(context: PageContext): Html {
  const { view } = context;
  const open = view.attempts.find(({ outcome }) => outcome === null);
  const path = checkoutPath(view.checkout);
  return html`<section class="card">
    ${open === undefined ? startStep(context) : scanStep(context, open.number)}
    ${button(context, { action: `${path}/cancel`, label: context.texts.cancel, style: "plain" })}
    ${returnLink(context, { paid: false })} ${developerNotes(context)}
  </section>`;
}

function startStep(context: PageContext): Html {
  const { view, texts } = context;
  const method = texts.method[view.checkout.paymentMethod];
  const tried = view.attempts.length;
  return html`<h2>${texts.paymentMethod}</h2>
    ${tried === 0 ? "" : html`<p class="notice warn" role="status">${texts.declined} ${texts.triesLeft(MAX_ATTEMPTS - tried)}</p>`}
    ${!view.settlesItself ? "" : html`<p class="notice">${texts.settlesItself}</p>`}
    <p class="method">${methodMark(context)} ${method}</p>
    ${button(context, { action: `${checkoutPath(view.checkout)}/start`, label: texts.payWith(method), style: "primary" })}
    <p class="hint">${texts.startHint(method)}</p>`;
}

function scanStep(context: PageContext, attempt: number): Html {
  const { view, texts, origin } = context;
  const path = walletPath(view.checkout, attempt);
  return html`<h2>${texts.scan(texts.method[view.checkout.paymentMethod])}</h2>
    <div class="qr" role="img" aria-label="${texts.qrName}">${qrCode(`${origin}${path}`)}</div>
    <p class="hint">${texts.scanHint}</p>
    <p class="waiting" role="status">${texts.waiting}</p>
    <a class="primary" href="${path}">${texts.openWallet}</a>
    <noscript><a class="plain" href="${checkoutPath(view.checkout)}">${texts.checkAgain}</a></noscript>`;
}

/** Dark on light whatever the theme, with the quiet zone that readers need. */
function qrCode(address: string): Html {
  return trusted(renderSVG(address, { ecc: "M", border: 4, whiteColor: "#fff", blackColor: "#000" }));
}

function result(context: PageContext, status: keyof PageContext["texts"]["result"]): Html {
  const { view, texts } = context;
  const { checkout, names } = view;
  return html`<section class="card result ${status}">
    <div role="status">
      <span class="icon" aria-hidden="true"></span>
      <h1>${texts.result[status]}</h1>
    </div>
    <p class="amount">${price(context)}</p>
    <p class="hint">${texts.resultHint[status]}</p>
    ${!wasPaidLate(view) ? "" : html`<p class="notice warn">${texts.late}</p>`}
    <dl>
      <div>
        <dt>${texts.payee}</dt>
        <dd>${names.store}</dd>
      </div>
      <div>
        <dt>${texts.order}</dt>
        <dd><bdi>${checkout.orderId}</bdi></dd>
      </div>
      ${
        checkout.description === null
          ? ""
          : html`<div>
              <dt></dt>
              <dd><bdi>${checkout.description}</bdi></dd>
            </div>`
      }
      <div>
        <dt>${texts.paymentMethod}</dt>
        <dd>${texts.method[checkout.paymentMethod]}</dd>
      </div>
    </dl>
    ${returnLink(context, { paid: status === "succeeded" })} ${developerNotes(context)}
  </section>`;
}

/** A plain link: a return changes nothing, and says nothing about the payment (decision 19). */
function returnLink({ view, texts }: PageContext, { paid }: { readonly paid: boolean }): Html {
  const { checkout, names, returnOrigin } = view;
  if (returnOrigin === null) return html``;
  const label =
    paid || isFinal(checkout.status) ? texts.returnTo(names.store) : texts.returnUnpaid(names.store);
  const style = isFinal(checkout.status) ? "primary" : "plain";
  return html`<a class="${style}" href="${returnAddress(returnOrigin, checkout)}">${label}</a>`;
}

/** What the merchant's developer wants to see, folded away. */
function developerNotes({ view, texts }: PageContext): Html {
  const { checkout, attempts, lateResults, returnOrigin } = view;
  const tries = attempts.map(({ number, outcome }) => `${number}: ${texts.outcome[outcome ?? "open"]}`);
  const late = lateResults.map(({ attempt, result: what }) => `${attempt}: ${texts.outcome[what]}`);
  return html`<details>
    <summary>${texts.forDevelopers}</summary>
    <dl>
      <div>
        <dt>${texts.session}</dt>
        <dd><code>${checkout.id}</code></dd>
      </div>
      <div>
        <dt>${texts.status}</dt>
        <dd><code>${checkout.status}</code></dd>
      </div>
      <div>
        <dt>${texts.attempts}</dt>
        <dd>${tries.length === 0 ? texts.noAttempts : tries.join(", ")}</dd>
      </div>
      ${
        late.length === 0
          ? ""
          : html`<div>
              <dt>${texts.lateResults}</dt>
              <dd>${late.join(", ")}</dd>
            </div>`
      }
    </dl>
    ${returnOrigin === null ? html`<p class="hint">${texts.noReturn} <code>checkout return-origins add</code></p>` : ""}
  </details>`;
}
