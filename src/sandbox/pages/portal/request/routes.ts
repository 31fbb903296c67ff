import type { PortalRoute } from "../route.ts";

/** The pages of the request log. */
export const REQUEST_ROUTES: readonly PortalRoute[] = [];
