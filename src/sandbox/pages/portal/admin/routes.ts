import type { PortalRoute } from "../route.ts";

/** The administrator's pages: requests for production, stores, capabilities, gate, audit log. */
export const ADMIN_ROUTES: readonly PortalRoute[] = [];
