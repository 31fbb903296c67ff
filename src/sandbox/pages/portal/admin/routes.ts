import { act, page, type PortalRoute } from "../route.ts";
import { overviewPage } from "./overview-page.ts";
import { adminStorePage, readAct } from "./store-page.ts";
import { TEXTS } from "./texts.ts";

/** The administrator's pages: requests for production, stores, capabilities, gate, audit log. */
export const ADMIN_ROUTES: readonly PortalRoute[] = [
  page("/portal/admin", overviewPage),
  page("/portal/admin/{store_id}", adminStorePage),
  act("/portal/admin/{store_id}/acts", {
    operation: "adminAct",
    read: readAct,
    leadsTo: ({ storeId }) => `/portal/admin/${storeId}`,
    says: ({ number, action }) => ({ words: TEXTS.recorded(number, action), tone: "good" }),
    form: {
      page: adminStorePage,
      at: ({ storeId }) => ({ path: `/portal/admin/${storeId}`, storeId, id: "" }),
    },
  }),
];
