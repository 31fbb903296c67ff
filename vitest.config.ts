import { availableParallelism } from "node:os";
import { delimiter, join } from "node:path";
import { defineConfig } from "vitest/config";
import { memoryFolder } from "./test/support/memory-folder.ts";
import { pythonBehind } from "./test/support/machine.ts";
import { LongestFirst } from "./test/support/longest-first.ts";

// Every process of Node's that a test starts inherits it: shops, compilers and other test runners are compiled once.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/compiled");

// What a test writes is synced as ever, but a slow disk holds up none. A campaign uses the disk.
const folder = process.env["TMPDIR"] ?? memoryFolder();
if (folder !== undefined) process.env["TMPDIR"] = folder;

// Shops and clients in Python are started a hundred times: by their interpreter, and not by what stands before it.
const python = pythonBehind();
if (python !== undefined) process.env["PATH"] = `${python}${delimiter}${process.env["PATH"]}`;

export default defineConfig({
  test: {
    // No projects: a worker serves one project alone, and would load the program again for a file of another.
    include: ["test/**/*.test.ts"],
    // A page that is served in this process has its style: vitest would leave it empty.
    css: true,
    reporters: ["default", "./test/support/summary-reporter.ts"],
    // No assertion: it ends what hangs. Every wait of a test gives up earlier, and says what it waited for.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // Three more than cores, because drills and shops mostly wait: 328 s where one more took 400 s (2 cores, idle).
    maxWorkers: availableParallelism() + 3,
    // A worker loads the program once, and not for each file: a sixth of all processor time. No test keeps anything in a
    // module, or changes one.
    isolate: false,
    // Room for short-lived values, in MiB: collecting them in less took a tenth of a worker's time.
    execArgv: ["--max-semi-space-size=64"],
    sequence: { sequencer: LongestFirst },
  },
});
