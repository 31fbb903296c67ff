import type { Checkout } from "../../../../core/checkout/checkout.ts";
import { checkoutUrl, HIDDEN, shownOf, type ShownFields } from "../../../../core/checkout/wire.ts";
import { explainCheckout } from "../../../../core/explain/checkout.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { html, type Html } from "../../../../web/html.ts";
import { viewCheckout } from "../../../checkout/view.ts";
import { tell } from "../../../explain/explain.ts";
import { TEXTS } from "../../payment/texts.ts";
import { listAddress } from "../forms.ts";
import { amount, copyable, dated, facts, inWords, statusBadge } from "../parts.ts";
import type { Content, PortalContext, View } from "../view.ts";
import { payerActs } from "./acts.ts";
import { STORY_TEXTS } from "./texts.ts";
import { timeline } from "./timeline.ts";

/** The whole story of a checkout: the same data, order and words as `checkout explain`. */
export async function showCheckout(context: PortalContext, view: View): Promise<Outcome<Content>> {
  const viewed = await viewCheckout(context, { storeId: view.storeId, checkoutId: view.id });
  if (!viewed.ok) return viewed;
  const told = tell(context, viewed.value);
  const { checkout, ofOrder } = told;
  const { summary, next } = explainCheckout(told);
  const texts = STORY_TEXTS[view.language];
  const command = explainCommand(context, checkout, ofOrder);
  const main = html`<section class="checkout-head">
      <p class="row sum">
        ${amount(view, checkout)} <span>${TEXTS[view.language].method[checkout.paymentMethod]}</span>
        ${statusBadge(view, checkout.status)}
      </p>
      <p class="hint" lang="en">${inWords(summary)}</p>
      ${facts(terms(context, view, { checkout, command, ofOrder }))}
    </section>
    ${payerActs(view, viewed.value)} ${timeline(context, view, { told, command })}
    ${
      next.length === 0
        ? ""
        : html`<section>
            <h2>${texts.next}</h2>
            <ul class="commands">
              ${next.map((one) => html`<li>${copyable(one)}</li>`)}
            </ul>
          </section>`
    }`;
  return accept({ title: checkout.orderId, main, live: { kind: "checkout", id: checkout.id } });
}

type Row = readonly [name: string, cell: Html | string];

function terms(
  { checkoutOrigin }: PortalContext,
  view: View,
  told: { readonly checkout: Checkout; readonly command: string; readonly ofOrder: number },
): readonly Row[] {
  const texts = STORY_TEXTS[view.language];
  const { checkout, command, ofOrder } = told;
  const { id, object, orderId, description, priceId, createdAt, expiresAt } = checkout;
  const ofThisOrder = html`<a href="${listAddress(view, "/checkouts", { q: orderId })}"
    >${texts.ofOrder(String(ofOrder))}</a
  >`;
  const paymentPage = html`<a href="${checkoutUrl(checkout, checkoutOrigin)}" target="_blank" rel="noopener"
    >${texts.openPage} <span aria-hidden="true">↗</span></a
  >`;
  // The amount and the status stand above, and so does the order_id.
  const shown = {
    id: [texts.id, copyable(id)],
    object: [texts.kind, texts.kinds[object]],
    order_id: ofOrder === 1 ? HIDDEN : [texts.order, ofThisOrder],
    amount_minor: HIDDEN,
    currency: HIDDEN,
    status: HIDDEN,
    description: description === null ? HIDDEN : [texts.description, html`<bdi>${description}</bdi>`],
    price: priceId === null ? HIDDEN : [texts.price, html`<code>${priceId}</code>`],
    created: [texts.created, dated(createdAt)],
    expires: [texts.expires, dated(expiresAt)],
    checkout_url: [texts.paymentPage, paymentPage],
    livemode: HIDDEN,
    command: [texts.inTerminal, copyable(command)],
  } satisfies ShownFields<Row> & Readonly<Record<string, Row | typeof HIDDEN>>;
  return shownOf<Row>(shown);
}

/** The command that tells the same: by the order_id where that names one checkout, and a shell takes it as it is. */
function explainCommand(
  { store }: PortalContext,
  { id, orderId, storeId }: Checkout,
  ofOrder: number,
): string {
  const isPlain = /^[\w.:@][\w.:@-]*$/.test(orderId) && ofOrder === 1;
  const named = store.stores.first()?.id === storeId ? "" : ` --store ${storeId}`;
  return `checkout explain ${isPlain ? orderId : id}${named}`;
}
