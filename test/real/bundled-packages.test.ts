import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { rolldown } from "rolldown";
import { expect, test } from "vitest";
import { baseOptions } from "../../bin/build/bundle.ts";
import { licenseTexts } from "../../bin/build/licenses.ts";
import { INPUTS } from "../../bin/build/output.ts";
import { tempFolder } from "../support/temp-folder.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Parts of the prompts that must not be bundled: an unused editor, and its encodings. */
const UNWANTED = new Set(["iconv-lite", "chardet", "safer-buffer", "@inquirer/external-editor"]);

/** The files that are bundled into the program and the modules that merchants import, relative to the repository. */
async function bundledFiles(): Promise<string[]> {
  const input = ["bin/main.ts", "src/testing/testing.ts", "src/webhooks.ts"];
  const bundle = await rolldown({ ...baseOptions, cwd: ROOT, input, external: ["better-sqlite3"] });
  const { output } = await bundle.generate({ format: "cjs" });
  const files = output.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
  // An id that begins with NUL is code of the bundler, which has no file.
  const paths = files.filter((path) => !path.startsWith("\0"));
  return paths.map((path) => relative(ROOT, path.replace(/\?raw$/, "")).replaceAll("\\", "/"));
}

test("every bundled package has its licence text, and no unwanted package is bundled", async () => {
  const files = await bundledFiles();
  const packages = files.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0]);
  const folders = [...new Set(packages.filter((folder) => folder !== undefined))];
  const names = folders.map((folder) => folder.replace(/^.*node_modules\//, ""));
  expect(names).toEqual(expect.arrayContaining(["zod", "commander", "htmx.org", "@inquirer/input"]));
  expect(names.filter((name) => UNWANTED.has(name))).toEqual([]);
  const passedOn = readFileSync(join(ROOT, "dist/THIRD-PARTY-LICENSES.txt"), "utf8");
  const missing = folders.filter((folder) => {
    const file = readdirSync(join(ROOT, folder)).find((name) => /^licen[cs]e/i.test(name));
    return file === undefined || !passedOn.includes(readFileSync(join(ROOT, folder, file), "utf8").trim());
  });
  expect(missing).toEqual([]);
  expect(passedOn).toMatch(/^ {2}rolldown \d/m);
  // A build is up to date if its INPUTS are unchanged, so they must include all bundled files of the repository.
  const own = files.filter((path) => !path.includes("node_modules/"));
  expect(own).toEqual(expect.arrayContaining(["INTERFACE.md", "bin/main.ts", "src/web/guard.ts"]));
  expect(own.filter((path) => !INPUTS.some((name) => path === name || path.startsWith(`${name}/`)))).toEqual(
    [],
  );
});

test("a package without a licence text cannot be bundled, and a bundled package's NOTICE is included", () => {
  const folder = (name: string, files: Readonly<Record<string, string>>): string => {
    const path = join(tempFolder(), name);
    mkdirSync(path);
    writeFileSync(join(path, "package.json"), JSON.stringify({ name, version: "1.0.0", license: "MIT" }));
    for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text);
    return path;
  };
  const good = folder("good", { "LICENCE.md": "Do what you want.", NOTICE: "It was Ann." });
  expect(licenseTexts([good])).toMatch(/ {2}good 1\.0\.0 \(MIT\)\n[^]*Do what you want\.\n\nIt was Ann\.\n/);
  const bad = folder("bad", { "README.md": "License: MIT", "license.js": "" });
  expect(() => licenseTexts([good, bad])).toThrow("bad 1.0.0");
});
