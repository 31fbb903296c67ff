import { pageRoute, type PortalRoute } from "../route.ts";
import { overviewPage } from "./overview-page.ts";

export const OVERVIEW_ROUTES: readonly PortalRoute[] = [
  pageRoute({ path: "/portal/{store_id}/overview", minRole: "viewer" }, overviewPage),
];
