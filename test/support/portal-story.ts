import { textOf, type Page } from "./portal.ts";

/** A time within a line, which the page's script shows in the browser's zone. */
const TIME = /<time datetime="([^"]+)"[^>]*>[^<]*<\/time>/g;

/** The lines of the story on a page: the time, the text with full times, and whether the line is indented. */
export function linesOf(page: Pick<Page, "html">): readonly { at: string; text: string; isUnder: boolean }[] {
  const [, story = ""] = page.html.split('id="story"');
  const html = story.replaceAll(/<ol class="attempts">.*?<\/ol>/gs, "");
  const lines = html.matchAll(
    /<a class="at"[^>]*>\s*<time datetime="([^"]+)".*?(?:<div class="line">(.*?)<\/div>|<summary>(.*?)<\/summary>)/gs,
  );
  return [...lines].map((found) => ({
    at: found[1] ?? "",
    text: textOf((found[2] ?? found[3] ?? "").replaceAll(TIME, "$1")).replaceAll(" ,", ","),
    isUnder:
      html.slice(0, found.index).split('<ol class="under">').length >
      html.slice(0, found.index).split("</ol>").length,
  }));
}
