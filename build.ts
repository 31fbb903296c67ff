/** Builds the program into dist/; with --executable dist/checkout instead, one file with Node inside. */
import { parseArgs } from "node:util";
import { update } from "./bin/build/output.ts";

const { values } = parseArgs({
  options: { executable: { type: "boolean", default: false }, out: { type: "string", default: "dist" } },
});

await update({
  root: import.meta.dirname,
  out: values.out,
  kind: values.executable ? "executable" : "package",
  // Loaded only if there is something to build.
  make: async (folder) => {
    if (values.executable) await (await import("./bin/build/executable.ts")).buildExecutable(folder);
    else await (await import("./bin/build/package.ts")).buildPackage(folder);
  },
});
