import { globSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { Plugin } from "rolldown";

export const LICENSES_FILE = "THIRD-PARTY-LICENSES.txt";

const PACKAGE_FOLDER = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
const LICENSE_NAME = /^(?:licen[cs]e|copying|notice)(?:[.-](?!(?:[cm]?[jt]s|json)$)\w+)*$/i;
/** Module ids with this prefix are helpers of the bundler, not files. */
const HELPER_PREFIX = "\0";
const SEPARATOR = "=".repeat(80);

export function notePackages(folders: Set<string>): Plugin {
  return {
    name: "note packages",
    generateBundle: (_options, bundle) => {
      for (const file of Object.values(bundle).flatMap((output) =>
        output.type === "chunk" ? output.moduleIds : [],
      )) {
        const [folder] = PACKAGE_FOLDER.exec(relative(process.cwd(), file).replaceAll("\\", "/")) ?? [];
        if (folder !== undefined) folders.add(folder);
        if (file.startsWith(HELPER_PREFIX)) folders.add("node_modules/rolldown");
      }
    },
  };
}

/** Throws if a package has no licence text, because unlicensed code must not be distributed. */
export function licenseTexts(folders: Iterable<string>): string {
  const packages = [...folders]
    .map(readPackage)
    .toSorted((left, right) => (left.title < right.title ? -1 : 1));
  const titles = packages.map(({ title }) => `  ${title}\n`).join("");
  const texts = packages.map(({ title, text }) => `${SEPARATOR}\n${title}\n${SEPARATOR}\n\n${text}\n`);
  return `What is bundled with checkout, each under its own licence:\n\n${titles}\n${texts.join("\n")}`;
}

/**
 * The licence of the running Node: beside its binary (Windows), one folder above (archives, images), in Node's npm
 * package, or in the system's documentation.
 */
export function nodeLicense(): string | undefined {
  const cwd = dirname(process.execPath);
  const places = ["LICENSE", "../LICENSE", "../node_modules/node*-*/LICENSE", "../share/doc/nodejs/LICENSE"];
  const [path] = places.flatMap((place) => globSync(place, { cwd }));
  return path === undefined ? undefined : readFileSync(join(cwd, path), "utf8");
}

function readPackage(folder: string): { readonly title: string; readonly text: string } {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string;
  };
  const files = readdirSync(folder).filter((file) => LICENSE_NAME.test(file));
  if (files.length === 0) throw new Error(`${name} ${version} has no licence text, so it cannot be bundled`);
  const texts = files.map((file) => readFileSync(join(folder, file), "utf8").trim());
  return {
    title: `${name} ${version}${license === undefined ? "" : ` (${license})`}`,
    text: texts.join("\n\n"),
  };
}
