import { page, type PortalRoute } from "../route.ts";
import { requestPage } from "./request-page.ts";
import { requestsPage } from "./requests-page.ts";

/** The pages of the request log. */
export const REQUEST_ROUTES: readonly PortalRoute[] = [
  page("/portal/{store_id}/requests", requestsPage),
  page("/portal/{store_id}/requests/{id}", requestPage),
];
