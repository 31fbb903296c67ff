import { availableParallelism } from "node:os";
import { delimiter, join } from "node:path";
import { defineConfig } from "vitest/config";
import { memoryFolder } from "./test/support/memory-folder.ts";
import { pythonFolder } from "./test/support/machine.ts";
import { LongestFirst } from "./test/support/longest-first.ts";

// Node processes that tests start inherit this cache, so shops, compilers and other test runners are compiled once.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/compiled");

// Tests write their files in memory if they can, so that a slow disk delays no test. A campaign uses the disk.
const folder = process.env["TMPDIR"] ?? memoryFolder();
if (folder !== undefined) process.env["TMPDIR"] = folder;

// Tests start Python about a hundred times, so they start the interpreter itself, without a wrapper such as pyenv's.
const python = pythonFolder();
if (python !== undefined) process.env["PATH"] = `${python}${delimiter}${process.env["PATH"]}`;

export default defineConfig({
  test: {
    // No projects: a worker serves one project only, so a file of another project would load the program again.
    include: ["test/**/*.test.ts"],
    // Keeps the style sheets of pages that a test serves in this process; vitest would empty them.
    css: true,
    reporters: ["default", "./test/support/summary-reporter.ts"],
    // Only ends tests that hang: every wait of a test times out earlier, and says what it waited for.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // Three more than cores, because drills and shops mostly wait: 328 s, and 400 s with one more (2 cores, idle).
    maxWorkers: availableParallelism() + 3,
    // A worker loads the program once and not for each file, which saves a sixth of the processor time. No test may
    // change a module, or keep state in one.
    isolate: false,
    // The heap for short-lived values, in MiB: with less, garbage collection took a tenth of a worker's time.
    execArgv: ["--max-semi-space-size=64"],
    sequence: { sequencer: LongestFirst },
  },
});
