import type { PortalRoute } from "../route.ts";

/** The pages of endpoints, events and deliveries. */
export const WEBHOOK_ROUTES: readonly PortalRoute[] = [];
