/** Builds the program into dist/. With --executable, builds dist/checkout instead: one file that contains Node. */
import { parseArgs } from "node:util";
import { updateOutput } from "./bin/build/output.ts";

const { values } = parseArgs({
  options: { executable: { type: "boolean", default: false }, out: { type: "string", default: "dist" } },
});

await updateOutput({
  root: import.meta.dirname,
  out: values.out,
  kind: values.executable ? "executable" : "package",
  // Loaded only if something must be built.
  make: async (folder) => {
    if (values.executable) await (await import("./bin/build/executable.ts")).buildExecutable(folder);
    else await (await import("./bin/build/package.ts")).buildPackage(folder);
  },
});
