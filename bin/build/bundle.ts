import { readFileSync } from "node:fs";
import type { InputOptions, OutputOptions, Plugin } from "rolldown";
import { notePackages } from "./licenses.ts";

/** Folders of the packages in all bundles of this process. */
export const bundledPackages = new Set<string>();

const RAW_SUFFIX = /\?raw$/;

/** Loads the file of an import such as `"./style.css?raw"` as text, as vitest does. */
const rawTextPlugin: Plugin = {
  name: "raw text",
  resolveId: {
    filter: { id: RAW_SUFFIX },
    handler: async function (path, importer) {
      const resolvedModule = await this.resolve(path.replace(RAW_SUFFIX, ""), importer);
      return resolvedModule === null ? null : { id: `${resolvedModule.id}?raw`, moduleSideEffects: false };
    },
  },
  load: {
    filter: { id: RAW_SUFFIX },
    handler: (id) => ({ code: readFileSync(id.replace(RAW_SUFFIX, ""), "utf8"), moduleType: "text" }),
  },
};

export const baseOptions = {
  platform: "node",
  plugins: [rawTextPlugin, notePackages(bundledPackages)],
  transform: {
    target: "node22",
    // CommonJS has no import.meta.url; without it, the package `open` uses the system's xdg-open.
    define: { "import.meta.url": "undefined" },
  },
  // The default build of this package loads its parts with a `require` that no bundler can follow.
  resolve: { alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" } },
} satisfies InputOptions;

/** Keeps white space, because Node and test runners print the whole line that throws an uncaught error. */
export const outputOptions = {
  comments: { legal: true, annotation: false, jsdoc: false },
  // Files load each other with `require`, which is faster in Node than `import()`, and which jest permits.
  dynamicImportInCjs: false,
} satisfies OutputOptions;

export const singleFileOptions = { ...outputOptions, codeSplitting: false } satisfies OutputOptions;
