import { actionRoute, pageRoute, type PortalRoute } from "../route.ts";
import { adminOverviewPage } from "./overview-page.ts";
import { adminStorePage, parseActionForm } from "./store-page.ts";
import { ADMIN_TEXTS } from "./texts.ts";

/** The administrator's pages: requests for production, stores, capabilities, gate, audit log. */
export const ADMIN_ROUTES: readonly PortalRoute[] = [
  pageRoute({ path: "/portal/admin", minRole: "administrator" }, adminOverviewPage),
  pageRoute({ path: "/portal/admin/{store_id}", minRole: "administrator" }, adminStorePage),
  actionRoute("/portal/admin/{store_id}/acts", {
    operation: "adminAct",
    read: parseActionForm,
    nextAddress: ({ storeId }) => `/portal/admin/${storeId}`,
    notice: ({ number, action }) => ({ words: ADMIN_TEXTS.recorded(number, action), tone: "good" }),
    form: {
      page: adminStorePage,
      pageOf: ({ storeId }) => ({ path: `/portal/admin/${storeId}`, storeId, id: "" }),
    },
  }),
];
