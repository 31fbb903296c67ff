/**
 * Runs the program of an executable once, and writes the compiled code of the functions that it called into a file:
 * `node record-compiled.ts FOLDER OUTPUT WORDS…`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Script, type ScriptOptions } from "node:vm";
import { SCRIPT } from "./executable-scripts.ts";

const [folder = "", output = ""] = process.argv.splice(2, 2);
const require = createRequire(import.meta.url);

/** Writes its compiled code when the program ends. */
class RecordedScript extends Script {
  constructor(source: string, options: ScriptOptions) {
    super(source, options);
    if (this.cachedDataRejected === true) throw new Error("Node refuses the compiled code of an earlier run");
    process.once("exit", () => writeFileSync(output, this.createCachedData()));
  }
}

const replaced: Readonly<Record<string, unknown>> = {
  "node:vm": { Script: RecordedScript },
  "node:sea": {
    getAsset: (name: string) => readFileSync(join(folder, name), "utf8"),
    getRawAsset: (name: string) => readFileSync(join(folder, name)),
  },
};
const start = new Script(
  `(function(require,module,__dirname){${readFileSync(join(folder, SCRIPT), "utf8")}\n})`,
);
const run = start.runInThisContext() as (
  require: (name: string) => unknown,
  module: object,
  folder: string,
) => void;
// The packaged addon is found beside the code of its package.
run((name) => replaced[name] ?? require(name), {}, dirname(require.resolve("better-sqlite3")));
