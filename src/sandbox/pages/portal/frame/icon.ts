import { createAsset, type Asset } from "../../../../web/asset.ts";
import { html, type Html } from "../../../../web/html.ts";

const SHAPE = `<rect width="32" height="32" rx="7" fill="#2150d8"/><path d="M9 16.5l5 5 9.5-11" fill="none" stroke="#fff" stroke-width="3.5" stroke-linecap="round" stroke-linejoin="round"/>`;
const DOT = `<circle cx="25" cy="7" r="7" fill="#ffb020" stroke="#fff" stroke-width="2"/>`;

function svg(shapes: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${shapes}</svg>`;
}

export const ICON = createAsset("/portal/assets/icon.svg", "image/svg+xml", svg(SHAPE));
/** The icon with an amber dot, which shows that something is failing. */
export const ALARM_ICON = createAsset("/portal/assets/icon-alarm.svg", "image/svg+xml", svg(SHAPE + DOT));

/** The icon of a page. The script changes it while the page is open. */
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

/** The file name of an icon; the script replaces it in the address with the name of the other icon. */
function nameOf({ address }: Asset): string {
  return address.slice(address.lastIndexOf("/") + 1);
}

/** The logo in the bar; the stylesheet contains its image. */
export const BRAND_MARK = html`<span class="brand" aria-hidden="true"></span>`;
