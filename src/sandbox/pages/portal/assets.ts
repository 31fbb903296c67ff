import { createAsset } from "../../../web/asset.ts";
import checkoutStyle from "./checkout/checkout.css?raw";
import { ALARM_ICON, ICON } from "./frame/icon.ts";
import liveStyle from "./live/live.css?raw";
import liveScript from "./live/live.js?raw";
import style from "./portal.css?raw";
import script from "./portal.js?raw";
import readinessStyle from "./readiness/readiness.css?raw";
import requestStyle from "./request/request.css?raw";
import storeStyle from "./store/store.css?raw";
import webhookStyle from "./webhook/webhook.css?raw";

/** The portal's stylesheets in one file: the frame, then each kind of page. */
const STYLES = [style, checkoutStyle, readinessStyle, requestStyle, storeStyle, webhookStyle, liveStyle];

/** Contains the brand's image, so that a saved page needs no other file. */
const STYLE = STYLES.join("\n").replace(
  '"icon.svg"',
  `"data:image/svg+xml,${encodeURIComponent(ICON.text)}"`,
);

/** The portal's stylesheet, loaded after the stylesheet of all pages. */
export const PORTAL_STYLE = createAsset("/portal/assets/portal.css", "text/css", STYLE);
export const PORTAL_SCRIPT = createAsset("/portal/assets/portal.js", "text/javascript", script);
export const LIVE_SCRIPT = createAsset("/portal/assets/live.js", "text/javascript", liveScript);

export const PORTAL_ASSETS = [PORTAL_STYLE, PORTAL_SCRIPT, LIVE_SCRIPT, ICON, ALARM_ICON] as const;
