import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const MAX_COLUMNS = 100;
const MAX_README_BYTES = 8192;
const MAX_DOCS_BYTES = 204_800;

/** Every document: at the top level, in docs/, and in docs/internal/, which the package leaves out. */
const DOCUMENTS = ["", "docs", "docs/internal"].flatMap((folder) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name)),
);

type Link = { readonly from: string; readonly file: string; readonly anchor: string };

/** The links and pictures of a document that lead to a file of this repository. */
function linksIn(name: string): readonly Link[] {
  const text = withoutCode(textOf(name));
  const targets = Array.from(text.matchAll(/\]\(([^)\s]+)\)/g), ([, target = ""]) => target);
  return targets
    .filter((target) => !/^https?:/.test(target))
    .map((target) => {
      const [file = "", anchor = ""] = target.split("#");
      const path = file === "" ? name : relative(ROOT, join(ROOT, dirname(name), file));
      return { from: name, file: path, anchor };
    });
}

/** The anchors of a document: its headings, as GitHub names them, and explicit anchors. */
function anchorsOf(name: string): ReadonlySet<string> {
  const found = new Set<string>();
  const text = withoutCode(textOf(name));
  for (const [, heading = ""] of text.matchAll(/^#+ (.*)$/gm)) {
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\- _]/gu, "")
      .replaceAll(" ", "-");
    let anchor = slug;
    for (let number = 1; found.has(anchor); number += 1) anchor = `${slug}-${number}`;
    found.add(anchor);
  }
  for (const [, id = ""] of text.matchAll(/<a id="([^"]+)">/g)) found.add(id);
  return found;
}

function withoutCode(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```/gm, "");
}

function textOf(name: string): string {
  return readFileSync(join(ROOT, name), "utf8");
}

test("every link of the documents leads to an existing file and anchor", () => {
  const links = DOCUMENTS.flatMap(linksIn);
  expect(links.length).toBeGreaterThan(40);
  const dead = links.filter(
    ({ file, anchor }) =>
      !existsSync(join(ROOT, file)) ||
      (anchor !== "" && !(file.endsWith(".md") && anchorsOf(file).has(anchor))),
  );
  expect(dead).toEqual([]);
  expect(anchorsOf("README.md").has("no-such-heading")).toBe(false);
});

test("README and the pages of docs link only to files of the package", () => {
  const { files } = JSON.parse(textOf("package.json")) as { readonly files: readonly string[] };
  const isListed = (path: string): boolean =>
    files.some((one) => path === one || path.startsWith(`${one.replace(/\/\*.*$/, "")}/`));
  const isShipped = (path: string): boolean =>
    path === "README.md" || (isListed(path) && !files.includes(`!${dirname(path)}`));
  expect(isShipped("docs/internal/decisions.md")).toBe(false);
  const pages = DOCUMENTS.filter((name) => name === "README.md" || dirname(name) === "docs");
  const links = pages.flatMap(linksIn);
  expect(links.filter(({ file }) => !isShipped(file))).toEqual([]);
});

test("every page of docs is at most two clicks from README", () => {
  const reached = new Set(["README.md"]);
  for (let clicks = 0; clicks < 2; clicks += 1)
    for (const name of [...reached].filter((one) => one.endsWith(".md")))
      for (const { file } of linksIn(name)) reached.add(file);
  const pages = DOCUMENTS.filter((name) => dirname(name) === "docs");
  expect(pages.length).toBeGreaterThan(10);
  expect(pages.filter((name) => !reached.has(name))).toEqual([]);
});

test("the documentation pages of the package have at most 200 KB in total", () => {
  const names = readdirSync(join(ROOT, "docs"), { withFileTypes: true }).filter((one) => one.isFile());
  const bytes = names.map(({ name }) => Buffer.byteLength(textOf(`docs/${name}`)));
  expect(bytes.length).toBeGreaterThan(10);
  expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(MAX_DOCS_BYTES);
});

test("README has at most 8 KB, and no code line of over 100 columns", () => {
  const shown = [...textOf("README.md").matchAll(/^```[\s\S]*?^```/gm)].flatMap(([block]) =>
    block.split("\n"),
  );
  expect(shown.length).toBeGreaterThan(40);
  expect(shown.filter((line) => line.length > MAX_COLUMNS)).toEqual([]);
  expect(Buffer.byteLength(textOf("README.md"))).toBeLessThanOrEqual(MAX_README_BYTES);
});
