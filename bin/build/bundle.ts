import { readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import type { BuildOptions, Plugin } from "esbuild";
import { notePackages } from "./licenses.ts";
import { ownZod } from "./own-zod.ts";

/** The folders of the bundled packages. */
export const bundled = new Set<string>();

/** `import text from "./style.css?raw"` gives the file as text, as in vitest. */
const rawText: Plugin = {
  name: "raw text",
  setup: (bundler) => {
    bundler.onResolve({ filter: /\?raw$/ }, async ({ path, kind, resolveDir }) => {
      const { path: file, errors } = await bundler.resolve(path.replace(/\?raw$/, ""), { kind, resolveDir });
      // The bundle's comments name the path, so paths of this machine must stay out of it.
      return { path: relative(process.cwd(), file), errors, namespace: "raw" };
    });
    bundler.onLoad({ filter: /.*/, namespace: "raw" }, ({ path }) => ({
      contents: readFileSync(resolve(path), "utf8"),
      loader: "text",
    }));
  },
};

/** Options of every bundle. */
export const common = {
  platform: "node",
  target: "node22",
  bundle: true,
  plugins: [rawText, ownZod, notePackages(bundled)],
  // Names stay, so that stack traces are readable.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: "eof",
  // CommonJS has no import.meta.url. `open` looks there for its own xdg-open, and uses the system's if it finds none.
  define: { "import.meta.url": "undefined" },
} as const satisfies BuildOptions;

/** The default build of this package loads its parts by a require that no bundler can follow. */
export const ALIAS = { "jsonc-parser": "jsonc-parser/lib/esm/main.js" } as const;
