import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

/** The minified file, which a page parses in two thirds of the time. */
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The rules that axe runs, the part of the page that they check, and how many of them must find a correct element. */
type AxeOptions = { readonly rules?: readonly string[]; readonly within?: string; readonly atLeast?: number };

/**
 * Faults that axe finds on the page in its present state, one for each element, by the given rules (default: all).
 * Throws if fewer than `atLeast` rules (default: 1) have found a correct element.
 */
export async function axeFaults(
  page: Page,
  { rules, within = "html", atLeast = 1 }: AxeOptions = {},
): Promise<string[]> {
  // Evaluated outside the page's content security policy, once for each document.
  if (await page.evaluate<boolean>("window.axe === undefined")) await page.evaluate(AXE);
  const only = rules === undefined ? {} : { runOnly: rules };
  // axe preloads style sheets and media only for a rule about audio and video, and the pages have neither.
  const options = JSON.stringify({ resultTypes: ["violations"], preload: false, ...only });
  return page.evaluate(`axe.run(${JSON.stringify(within)}, ${options}).then(({ violations, passes }) => {
    if (document.querySelector("audio, video") !== null) throw new Error("axe has to load its media");
    if (passes.length < ${atLeast}) throw new Error("axe looked at nothing");
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + " " + html));
  })`);
}
