import { createAsset, type Asset } from "../../../web/asset.ts";
import { html, type Html } from "../../../web/html.ts";
import checkoutStyle from "./checkout/checkout.css?raw";
import liveStyle from "./live/live.css?raw";
import liveScript from "./live/live.js?raw";
import style from "./portal.css?raw";
import script from "./portal.js?raw";
import readinessStyle from "./readiness/readiness.css?raw";
import requestStyle from "./request/request.css?raw";
import storeStyle from "./store/store.css?raw";
import webhookStyle from "./webhook/webhook.css?raw";

const SHAPE = `<rect width="32" height="32" rx="7" fill="#2150d8"/><path d="M9 16.5l5 5 9.5-11" fill="none" stroke="#fff" stroke-width="3.5" stroke-linecap="round" stroke-linejoin="round"/>`;
const DOT = `<circle cx="25" cy="7" r="7" fill="#ffb020" stroke="#fff" stroke-width="2"/>`;

function svg(shapes: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${shapes}</svg>`;
}

const ICON = createAsset("/portal/assets/icon.svg", "image/svg+xml", svg(SHAPE));
const ALARM_ICON = createAsset("/portal/assets/icon-alarm.svg", "image/svg+xml", svg(SHAPE + DOT));

const STYLES = [style, checkoutStyle, readinessStyle, requestStyle, storeStyle, webhookStyle, liveStyle];

/** Contains the brand image, so that a saved page needs no other file. */
const STYLE = STYLES.join("\n").replace(
  '"icon.svg"',
  `"data:image/svg+xml,${encodeURIComponent(ICON.text)}"`,
);

export const PORTAL_STYLE = createAsset("/portal/assets/portal.css", "text/css", STYLE);
export const PORTAL_SCRIPT = createAsset("/portal/assets/portal.js", "text/javascript", script);
export const LIVE_SCRIPT = createAsset("/portal/assets/live.js", "text/javascript", liveScript);

export const PORTAL_ASSETS = [PORTAL_STYLE, PORTAL_SCRIPT, LIVE_SCRIPT, ICON, ALARM_ICON] as const;

export function iconLink({ isFailing }: { readonly isFailing: boolean }): Html {
  return html`<link
    rel="icon"
    id="icon"
    type="image/svg+xml"
    href="${isFailing ? ALARM_ICON.address : ICON.address}"
    data-calm="${nameOf(ICON)}"
    data-alarm="${nameOf(ALARM_ICON)}"
  />`;
}

function nameOf({ address }: Asset): string {
  return address.slice(address.lastIndexOf("/") + 1);
}

export const BRAND_MARK = html`<span class="brand" aria-hidden="true"></span>`;
