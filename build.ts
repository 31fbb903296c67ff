/** Builds dist/checkout.cjs, the whole program in one file; with --executable also dist/checkout, with Node inside. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { build } from "esbuild";

const BUNDLE = "dist/checkout.cjs";

await build({
  entryPoints: ["bin/main.ts"],
  outfile: BUNDLE,
  bundle: true,
  platform: "node",
  target: "node22",
  format: "cjs",
  minify: true,
  keepNames: true,
  external: ["better-sqlite3"],
  legalComments: "none",
});
