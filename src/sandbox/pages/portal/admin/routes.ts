import { act, page, type PortalRoute } from "../route.ts";
import { overviewPage } from "./overview-page.ts";
import { adminStorePage, readAct } from "./store-page.ts";

/** The administrator's pages: requests for production, stores, capabilities, gate, audit log. */
export const ADMIN_ROUTES: readonly PortalRoute[] = [
  page("/portal/admin", overviewPage),
  page("/portal/admin/{store_id}", adminStorePage),
  act("/portal/admin/{store_id}/acts", {
    operation: "adminAct",
    read: readAct,
    leadsTo: ({ storeId }) => `/portal/admin/${storeId}`,
  }),
];
