import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

/** Minified: a page reads it in two thirds of the time. */
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Rules that axe runs, the part of the page it runs them on, and how many of them must find something to look at. */
type AxeOptions = { readonly rules?: readonly string[]; readonly within?: string; readonly atLeast?: number };

/**
 * Faults that axe finds on a page as shown now, one for each element, by all its rules or these. Throws if fewer than
 * `atLeast` rules (default: 1) have looked at anything.
 */
export async function axeFaults(
  page: Page,
  { rules, within = "html", atLeast = 1 }: AxeOptions = {},
): Promise<string[]> {
  // Evaluated outside the page's policy, once for each document.
  if (await page.evaluate<boolean>("window.axe === undefined")) await page.evaluate(AXE);
  const only = rules === undefined ? {} : { runOnly: rules };
  // Style sheets and media are loaded for a rule of sound and film alone, and the pages have neither.
  const options = JSON.stringify({ resultTypes: ["violations"], preload: false, ...only });
  return page.evaluate(`axe.run(${JSON.stringify(within)}, ${options}).then(({ violations, passes }) => {
    if (document.querySelector("audio, video") !== null) throw new Error("axe has to load its media");
    if (passes.length < ${atLeast}) throw new Error("axe looked at nothing");
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + " " + html));
  })`);
}
