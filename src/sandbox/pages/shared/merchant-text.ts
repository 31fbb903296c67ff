import { displayText } from "../../../core/text.ts";
import { html, type Html } from "../../../web/html.ts";

/** A merchant's text inside our own text: it has its own text direction, and is never invisible. */
export function merchantText(text: string): Html {
  return html`<bdi>${displayText(text)}</bdi>`;
}
