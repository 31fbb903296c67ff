import { filledFields } from "../fields.ts";
import { actionRoute, pageRoute, type PortalRoute } from "../route.ts";
import { assumptionsPage } from "./assumptions-page.ts";
import { launchPage } from "./launch-page.ts";
import { LAUNCH_TEXTS } from "./texts.ts";

const LAUNCH_FORM = { page: launchPage };

export const READINESS_ROUTES: readonly PortalRoute[] = [
  pageRoute({ path: "/portal/{store_id}/launch", minRole: "viewer" }, launchPage),
  pageRoute({ path: "/portal/{store_id}/launch/assumptions", minRole: "viewer" }, assumptionsPage),
  actionRoute("/portal/{store_id}/launch/waivers", {
    operation: "waiveDrill",
    read: (fields) => ({ drill: fields.get("drill"), reason: fields.get("reason") }),
    notice: ({ drill }) => ({ words: LAUNCH_TEXTS.notices.skipped[drill], tone: "good" }),
    form: LAUNCH_FORM,
  }),
  actionRoute("/portal/{store_id}/launch/production", {
    operation: "requestProduction",
    read: (fields) => filledFields(fields, ["note"]),
    notice: () => ({ words: LAUNCH_TEXTS.notices.requested, tone: "good" }),
    form: LAUNCH_FORM,
  }),
];
