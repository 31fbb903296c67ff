import { pageRoute, type PortalRoute } from "../route.ts";
import { requestPage } from "./request-page.ts";
import { requestsPage } from "./requests-page.ts";

export const REQUEST_ROUTES: readonly PortalRoute[] = [
  pageRoute("/portal/{store_id}/requests", requestsPage),
  pageRoute("/portal/{store_id}/requests/{id}", requestPage),
];
