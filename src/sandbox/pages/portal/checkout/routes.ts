import { storePath } from "../frame.ts";
import { act, page, type PortalRoute } from "../route.ts";
import { showCheckout } from "./checkout-page.ts";
import { findAnywhere, findInStore } from "./find.ts";
import { showCheckouts } from "./list-page.ts";

const ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** The pages of checkouts, and what leads to the page of any id. */
export const CHECKOUT_ROUTES: readonly PortalRoute[] = [
  page("/portal/{store_id}/checkouts", showCheckouts),
  page("/portal/{store_id}/checkouts/{id}", showCheckout),
  act("/portal/{store_id}/checkouts/{id}/pay", {
    operation: "pay",
    read: (fields) => ({ outcome: fields.get("outcome") }),
    leadsTo: (view) => storePath(view, `/checkouts/${view.id}`),
  }),
  act("/portal/{store_id}/checkouts/events/{id}/replay", {
    operation: "replayEvent",
    read: () => ({}),
    leadsTo: (view) => {
      const checkout = view.query.get("checkout") ?? "";
      return storePath(view, ID.test(checkout) ? `/checkouts/${checkout}#event-${view.id}` : "/webhooks");
    },
  }),
  {
    methods: ["GET"],
    path: "/portal/{store_id}/find",
    role: "portal merchant",
    entersStore: true,
    answer: findInStore,
  },
  {
    methods: ["GET"],
    path: "/portal/find",
    role: "portal merchant",
    entersStore: true,
    answer: findAnywhere,
  },
];
