import { isApproved, isGateOpen, isRequested, productionOf } from "../../../../core/readiness/admin-act.ts";
import type { Production } from "../../../../core/control/readiness.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import type { StoreDetails } from "../../../../store/stores.ts";
import { html, type Html } from "../../../../web/html.ts";
import { either, named, table } from "../parts.ts";
import type { Content, PortalContext, View } from "../view.ts";
import { ADMIN_TEXTS } from "./texts.ts";

/** How many stores are shown: the newest. */
const MAX_SHOWN = 100;

/** All stores, as the administrator sees them; those whose merchant waits for an answer come first. */
export function overviewPage({ store }: PortalContext, view: View): Promise<Outcome<Content>> {
  const texts = ADMIN_TEXTS[view.language];
  const all = store.stores.all();
  const shown = all.slice(-MAX_SHOWN).map((details) => ({
    details,
    production: productionOf(store.adminActs.of(details.id)),
    unapproved: store.prices.of(details.id).filter((price) => !price.approved && !price.retired).length,
  }));
  const sorted = shown.toSorted((left, right) => rank(left.production) - rank(right.production));
  const columns = [
    texts.store,
    texts.merchant,
    texts.state,
    texts.request,
    texts.credential,
    texts.gate,
    texts.prices,
  ];
  const main = html`<p class="hint">${texts.hint}</p>
    ${table(
      texts.title,
      columns,
      sorted.map((one) => row(view, one)),
    )}
    ${all.length > MAX_SHOWN ? html`<p class="hint">${texts.hidden(all.length - MAX_SHOWN)}</p>` : ""}`;
  return Promise.resolve(accept({ title: texts.title, main }));
}

/** Whether the merchant waits for the administrator. */
function waits(production: Production): boolean {
  return isRequested(production) && !isGateOpen(production);
}

function rank(production: Production): number {
  return waits(production) ? 0 : 1;
}

function row(
  view: View,
  {
    details,
    production,
    unapproved,
  }: { readonly details: StoreDetails; readonly production: Production; readonly unapproved: number },
): Html {
  const texts = ADMIN_TEXTS[view.language];
  const { id, store, merchant, active } = details;
  const request = waits(production)
    ? html`<span class="badge warn">${texts.waiting}</span>`
    : html`${texts.none}`;
  return html`<tr data-row>
    <th scope="row"><a href="/portal/admin/${id}">${store}</a></th>
    <td>${merchant}</td>
    <td>${either(active, texts.active, texts.inactive)}</td>
    <td>${named(texts.request, request)}</td>
    <td>${named(texts.credential, either(isApproved(production), texts.approved, texts.notApproved))}</td>
    <td>${named(texts.gate, either(isGateOpen(production), texts.open, texts.closed))}</td>
    <td>
      ${named(texts.prices, unapproved === 0 ? texts.none : html`<span class="badge warn">${String(unapproved)}</span>`)}
    </td>
  </tr>`;
}
