import { actionRoute, page, type PortalRoute } from "../route.ts";
import { adminOverviewPage } from "./overview-page.ts";
import { adminStorePage, readAction } from "./store-page.ts";
import { TEXTS } from "./texts.ts";

/** The administrator's pages: requests for production, stores, capabilities, gate, audit log. */
export const ADMIN_ROUTES: readonly PortalRoute[] = [
  page("/portal/admin", adminOverviewPage),
  page("/portal/admin/{store_id}", adminStorePage),
  actionRoute("/portal/admin/{store_id}/acts", {
    operation: "adminAct",
    read: readAction,
    leadsTo: ({ storeId }) => `/portal/admin/${storeId}`,
    says: ({ number, action }) => ({ words: TEXTS.recorded(number, action), tone: "good" }),
    form: {
      page: adminStorePage,
      at: ({ storeId }) => ({ path: `/portal/admin/${storeId}`, storeId, id: "" }),
    },
  }),
];
