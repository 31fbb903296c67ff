import { readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import type { BuildOptions, Plugin } from "esbuild";
import { notePackages } from "./licenses.ts";

/** The packages that are bundled, by their folders. */
export const bundled = new Set<string>();

/** `import text from "./style.css?raw"` is the file as text, here as in vitest. */
const rawText: Plugin = {
  name: "raw text",
  setup: (bundler) => {
    bundler.onResolve({ filter: /\?raw$/ }, async ({ path, kind, resolveDir }) => {
      const { path: file, errors } = await bundler.resolve(path.replace(/\?raw$/, ""), { kind, resolveDir });
      // Comments of the bundle name it: a path of this machine stays out of the package.
      return { path: relative(process.cwd(), file), errors, namespace: "raw" };
    });
    bundler.onLoad({ filter: /.*/, namespace: "raw" }, ({ path }) => ({
      contents: readFileSync(resolve(path), "utf8"),
      loader: "text",
    }));
  },
};

/** How everything is bundled. */
export const common = {
  platform: "node",
  target: "node22",
  bundle: true,
  plugins: [rawText, notePackages(bundled)],
  // Names stay, so that a stack trace can be read.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: "eof",
  // CommonJS has none. `open` looks there for an xdg-open of its own, and takes the system's where it finds none.
  define: { "import.meta.url": "undefined" },
} as const satisfies BuildOptions;

/** The default build of this package loads its parts by a require that no bundler can follow. */
export const ALIAS = { "jsonc-parser": "jsonc-parser/lib/esm/main.js" } as const;
