import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

/** A document that is written by hand: README.md, or a page of docs/. */
type Page = { readonly name: string; readonly text: string };

/** A block of code that a page shows. */
type Block = { readonly page: string; readonly code: string };

/** The pages of docs/ that `npm run docs` writes. */
export const GENERATED: readonly string[] = ["docs/settings.md", "docs/errors.md", "docs/json.md"];

/** README.md and all pages of docs/ that are written by hand. */
export const PAGES: readonly Page[] = ["README.md", ...pagesOfDocs()]
  .filter((name) => !GENERATED.includes(name))
  .map((name) => ({ name, text: readFileSync(join(ROOT, name), "utf8") }));

export function pageText(name: string): string {
  const page = PAGES.find((one) => one.name === name);
  if (page === undefined) throw new Error(`no page ${name}`);
  return page.text;
}

/** The blocks of a language, such as "sh", in the order of the pages; a block that two pages show is listed once. */
export function blocksIn(language: string): readonly Block[] {
  const pattern = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm");
  const all = PAGES.flatMap(({ name, text }) =>
    Array.from(text.matchAll(pattern), ([, code = ""]) => ({ page: name, code })),
  );
  return all.filter(({ code }, at) => all.findIndex((other) => other.code === code) === at);
}

function pagesOfDocs(): readonly string[] {
  return readdirSync(join(ROOT, "docs"))
    .filter((name) => name.endsWith(".md"))
    .toSorted()
    .map((name) => `docs/${name}`);
}
