import type { Checkout } from "../../core/checkout/checkout.ts";
import { accept } from "../../core/outcome.ts";
import { UUID_SOURCE } from "../../core/text.ts";
import type { Store } from "../../store/store.ts";
import { splitTarget } from "../../web/http.ts";
import { createRouter } from "../../web/router.ts";
import type { Area, AreaRoute } from "../area.ts";
import { checkoutPath } from "./payment/parts.ts";
import { PAYMENT_ROUTES, type PagesContext } from "./payment/routes.ts";
import { assetRoute, HTMX_SCRIPT, SEND_BACK_SCRIPT, BASE_STYLE } from "./shared/assets.ts";
import { refusalPage } from "./shared/error-page.ts";

const PAYMENT_PAGE_PATH = new RegExp(`^/pay/(${UUID_SOURCE})(?:/|$)`);

const ROUTES: readonly AreaRoute<PagesContext>[] = [
  ...PAYMENT_ROUTES,
  ...[BASE_STYLE, HTMX_SCRIPT, SEND_BACK_SCRIPT].map(assetRoute),
];

/** The area of the payment pages and their static files. Refusals are also pages. */
export const PAGES_AREA: Area<PagesContext> = {
  routes: ROUTES,
  find: createRouter(ROUTES, {
    owner: ["the payment page", "支付页面"],
    segments: { checkout_id: UUID_SOURCE.replaceAll("a-f", "a-fA-F"), attempt: "[1-9]" },
  }),
  requestIdStream: "pages",
  admit: () => accept(undefined),
  storeIdOf: ({ store }, request) => checkoutAt(store, splitTarget(request.target).path)?.storeId,
  refuse: ({ store }, { request, requestId }, refusal) => {
    const checkout = checkoutAt(store, splitTarget(request.target).path);
    return refusalPage({ request, requestId }, refusal, checkout && checkoutPath(checkout));
  },
  fail: (request, requestId, refusal) => refusalPage({ request, requestId }, refusal),
};

/** The checkout to whose page a path belongs; undefined if there is none. */
function checkoutAt({ checkouts }: Pick<Store, "checkouts">, path: string): Checkout | undefined {
  const [, id = ""] = PAYMENT_PAGE_PATH.exec(path.toLowerCase()) ?? [];
  return checkouts.findInAnyStore(id);
}
