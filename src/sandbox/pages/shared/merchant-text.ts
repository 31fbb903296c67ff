import { displayText } from "../../../core/text.ts";
import { html, type Html } from "../../../web/html.ts";

/** A text of the merchant within a text of ours: it has its own text direction, and is never invisible. */
export function merchantText(text: string): Html {
  return html`<bdi>${displayText(text)}</bdi>`;
}
