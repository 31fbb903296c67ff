import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/longest-first.ts";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    reporters: ["default", "./test/support/summary-reporter.ts"],
    // No assertion: it ends what hangs. Every wait of a test gives up earlier, and says what it waited for.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // Most of the time is spent waiting for processes and browsers: more of them than cores are faster.
    maxWorkers: 6,
    // A worker loads the program once, and not for each file: a sixth of all processor time. No test keeps anything in a
    // module, or changes one.
    isolate: false,
    sequence: { sequencer: LongestFirst },
  },
});
