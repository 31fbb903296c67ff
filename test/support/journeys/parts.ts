import type { HTMLElement } from "node-html-parser";
import { agree } from "./agree.ts";
import type { FullAnswer } from "../harness.ts";

/** The content types of the files that a page loads, by the element and the attribute with their address. */
const PARTS = [
  ["link[rel=stylesheet]", "href", "text/css"],
  ["script[src]", "src", "text/javascript"],
  ["link[rel=icon]", "href", "image/"],
  ["img[src]", "src", "image/"],
] as const;

type GetPart = (call: {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}) => Promise<FullAnswer>;

/**
 * Fetches the styles, scripts and pictures of a page; fails if it has no style, or if a file is missing, empty or of
 * another type.
 */
export async function fetchParts(page: HTMLElement, at: URL, get: GetPart): Promise<void> {
  agree(`${at.pathname} has a style`, page.querySelector("link[rel=stylesheet], style") !== null, true);
  for (const [selector, attribute, type] of PARTS)
    for (const element of page.querySelectorAll(selector)) {
      const to = new URL(element.getAttribute(attribute) ?? "", at);
      if (to.protocol === "data:") continue;
      const answer = await get({
        path: to.pathname + to.search,
        headers: { Authorization: "", Host: at.host },
      });
      const kind = answer.headers["Content-Type"] ?? "";
      const isFilled = answer.body.length > 20;
      agree(to.pathname, [answer.status, kind.startsWith(type) ? type : kind, isFilled], [200, type, true]);
    }
}
