import {
  isApproved,
  isGateOpen,
  isRequested,
  productionOf,
  type Production,
} from "../../../../core/readiness/admin-act.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import type { StoreDetails } from "../../../../store/stores.ts";
import { html, type Html } from "../../../../web/html.ts";
import { either, named, table } from "../parts.ts";
import type { Content, PortalContext } from "../view.ts";
import { TEXTS } from "./texts.ts";

/** How many stores are shown: the newest. */
const MAX_SHOWN = 100;

/** All stores, as the administrator sees them; those whose merchant waits for an answer come first. */
export function overviewPage({ store }: PortalContext): Promise<Outcome<Content>> {
  const all = store.stores.all();
  const shown = all.slice(-MAX_SHOWN).map((details) => ({
    details,
    production: productionOf(store.adminActs.of(details.id)),
    unapproved: store.prices.of(details.id).filter((price) => !price.approved && !price.retired).length,
  }));
  const sorted = shown.toSorted((left, right) => rank(left.production) - rank(right.production));
  const columns = [
    TEXTS.store,
    TEXTS.merchant,
    TEXTS.state,
    TEXTS.request,
    TEXTS.credential,
    TEXTS.gate,
    TEXTS.prices,
  ];
  const main = html`<p class="hint">${TEXTS.hint}</p>
    ${table(
      TEXTS.title,
      columns,
      sorted.map((one) => row(one)),
    )}
    ${all.length > MAX_SHOWN ? html`<p class="hint">${TEXTS.hidden(all.length - MAX_SHOWN)}</p>` : ""}`;
  return Promise.resolve(accept({ title: TEXTS.title, main }));
}

/** Whether the merchant waits for the administrator. */
function waits(production: Production): boolean {
  return isRequested(production) && !isGateOpen(production);
}

function rank(production: Production): number {
  return waits(production) ? 0 : 1;
}

function row({
  details,
  production,
  unapproved,
}: {
  readonly details: StoreDetails;
  readonly production: Production;
  readonly unapproved: number;
}): Html {
  const { id, store, merchant, active } = details;
  const request = waits(production)
    ? html`<span class="badge warn">${TEXTS.waiting}</span>`
    : html`${TEXTS.none}`;
  return html`<tr data-row>
    <th scope="row"><a href="/portal/admin/${id}">${store}</a></th>
    <td>${merchant}</td>
    <td>${either(active, TEXTS.active, TEXTS.inactive)}</td>
    <td>${named(TEXTS.request, request)}</td>
    <td>${named(TEXTS.credential, either(isApproved(production), TEXTS.approved, TEXTS.notApproved))}</td>
    <td>${named(TEXTS.gate, either(isGateOpen(production), TEXTS.open, TEXTS.closed))}</td>
    <td>
      ${named(TEXTS.prices, unapproved === 0 ? TEXTS.none : html`<span class="badge warn">${String(unapproved)}</span>`)}
    </td>
  </tr>`;
}
