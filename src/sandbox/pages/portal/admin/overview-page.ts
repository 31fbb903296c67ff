import { displayStoreName } from "../../../../core/config/store-name.ts";
import { displayText } from "../../../../core/text.ts";
import {
  isProductionApproved,
  isGateOpen,
  isProductionRequested,
  productionOf,
} from "../../../../core/readiness/admin-action.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import type { StoreDetails } from "../../../../store/stores.ts";
import { html, type Html, type Text } from "../../../../web/html.ts";
import { goodOrNeutralBadge, linkTo, table, type TableRow } from "../parts.ts";
import type { PageContent, PortalContext } from "../view.ts";
import { COMMON_TEXTS } from "../texts.ts";
import { ADMIN_TEXTS } from "./texts.ts";
import type { Production } from "../../../../core/readiness/shapes.ts";

const MAX_SHOWN_STORES = 100;

export function adminOverviewPage({ store }: PortalContext): Promise<Outcome<PageContent>> {
  const allStores = store.stores.all();
  const shownStores = allStores.slice(-MAX_SHOWN_STORES).map((details) => ({
    details,
    production: productionOf(store.adminActions.of(details.id)),
    pendingCount: store.prices.of(details.id).filter((price) => !price.approved && !price.retired).length,
  }));
  const sortedStores = shownStores.toSorted(
    (left, right) => Number(isWaiting(right.production)) - Number(isWaiting(left.production)),
  );
  const main = html`<p class="hint">${ADMIN_TEXTS.hint}</p>
    ${table({ caption: ADMIN_TEXTS.title, isLinked: true }, sortedStores, storeRow)}
    ${allStores.length > MAX_SHOWN_STORES ? html`<p class="hint">${ADMIN_TEXTS.hidden(allStores.length - MAX_SHOWN_STORES)}</p>` : ""}`;
  return Promise.resolve(accept({ title: ADMIN_TEXTS.title, main }));
}

function isWaiting(production: Production): boolean {
  return isProductionRequested(production) && !isGateOpen(production);
}

function storeRow({
  details,
  production,
  pendingCount,
}: {
  readonly details: StoreDetails;
  readonly production: Production;
  readonly pendingCount: number;
}): TableRow {
  const { id, store, merchant, active } = details;
  const [hasApproval, isOpen] = [isProductionApproved(production), isGateOpen(production)];
  const warning = (text: Text): Html => html`<span class="badge warn">${text}</span>`;
  return [
    [COMMON_TEXTS.store, linkTo(`/portal/admin/${id}`, displayStoreName(store)), "head"],
    [COMMON_TEXTS.merchant, displayText(merchant)],
    [COMMON_TEXTS.state, goodOrNeutralBadge(active, COMMON_TEXTS.active, COMMON_TEXTS.inactive)],
    [ADMIN_TEXTS.request, isWaiting(production) ? warning(ADMIN_TEXTS.waiting) : ADMIN_TEXTS.none, "named"],
    [
      COMMON_TEXTS.credential,
      goodOrNeutralBadge(hasApproval, COMMON_TEXTS.approved, COMMON_TEXTS.notApproved),
      "named",
    ],
    [COMMON_TEXTS.gate, goodOrNeutralBadge(isOpen, COMMON_TEXTS.open, COMMON_TEXTS.closed), "named"],
    [ADMIN_TEXTS.prices, pendingCount === 0 ? ADMIN_TEXTS.none : warning(String(pendingCount)), "named"],
  ];
}
