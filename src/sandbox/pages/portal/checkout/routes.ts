import type { PortalRoute } from "../route.ts";

/** The pages of checkouts: the list, and the timeline of one. */
export const CHECKOUT_ROUTES: readonly PortalRoute[] = [];
