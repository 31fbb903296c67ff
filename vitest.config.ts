import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    reporters: ["default", "./test/support/summary-reporter.ts"],
    testTimeout: 30_000,
    // Most of the time is spent waiting for processes and browsers: more of them than cores are faster.
    maxWorkers: 3,
  },
});
