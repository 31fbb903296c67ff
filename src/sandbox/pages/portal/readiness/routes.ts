import type { PortalRoute } from "../route.ts";

/** The launch page: the checklist with its evidence. */
export const READINESS_ROUTES: readonly PortalRoute[] = [];
