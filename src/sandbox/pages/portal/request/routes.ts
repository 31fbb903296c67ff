import { pageRoute, type PortalRoute } from "../route.ts";
import { requestPage } from "./request-page.ts";
import { requestsPage } from "./requests-page.ts";

export const REQUEST_ROUTES: readonly PortalRoute[] = [
  pageRoute({ path: "/portal/{store_id}/requests", minRole: "viewer" }, requestsPage),
  pageRoute({ path: "/portal/{store_id}/requests/{id}", minRole: "viewer" }, requestPage),
];
