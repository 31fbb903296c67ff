import { displayText } from "../../../core/text.ts";
import { html, type Html } from "../../../web/html.ts";

/** A text of the merchant's among ours: it has a direction of its own, and never shows nothing. */
export function merchantText(text: string): Html {
  return html`<bdi>${displayText(text)}</bdi>`;
}
