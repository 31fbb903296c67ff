import { storePath } from "../forms.ts";
import { actionRoute, pageRoute, portalRoute, type PortalRoute } from "../route.ts";
import { COMMON_TEXTS } from "../texts.ts";
import { deliveryNotice } from "../webhook/delivery-notice.ts";
import { paidNotice } from "./last.ts";
import { showCheckout } from "./checkout-page.ts";
import { findAnywhere, findInStore } from "./find.ts";
import { parseTestOrderForm } from "./test-order.ts";
import { showCheckouts } from "./list-page.ts";
import { SAVED_STORY_ROUTE } from "./saved-story.ts";

export const ROUTES_OF_CHECKOUTS: readonly PortalRoute[] = [
  pageRoute({ path: "/portal/{store_id}/checkouts", minRole: "viewer" }, showCheckouts),
  pageRoute({ path: "/portal/{store_id}/checkouts/{id}", minRole: "viewer" }, showCheckout),
  SAVED_STORY_ROUTE,
  actionRoute("/portal/{store_id}/checkouts/test-orders", {
    operation: "createTestOrder",
    parse: parseTestOrderForm,
    nextAddress: (view, { id }) => storePath(view, `/checkouts/${id}`),
    notice: ({ orderId }) => ({ words: COMMON_TEXTS.testOrderMade(orderId), tone: "good" }),
    form: { page: showCheckouts },
  }),
  actionRoute("/portal/{store_id}/checkouts/{id}/pay", {
    operation: "pay",
    read: (fields) => ({ outcome: fields.get("outcome") }),
    nextAddress: (view) => storePath(view, `/checkouts/${view.id}`),
    notice: paidNotice,
    form: {
      page: showCheckout,
      pageOf: ({ storeId, id }) => ({ path: storePath({ storeId }, `/checkouts/${id}`), storeId, id }),
    },
  }),
  actionRoute("/portal/{store_id}/checkouts/{checkout_id}/events/{id}/replay", {
    operation: "replayEvent",
    nextAddress: (view) =>
      storePath(view, `/checkouts/${view.call.params["checkout_id"] ?? ""}#event-${view.id}`),
    notice: ({ deliveries }, scope) => deliveryNotice(scope, "replayed", deliveries),
  }),
  portalRoute({ path: "/portal/{store_id}/find", minRole: "viewer" }, findInStore),
  portalRoute({ path: "/portal/find", minRole: "viewer" }, findAnywhere),
];
