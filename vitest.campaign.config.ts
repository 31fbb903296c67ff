import { defineConfig } from "vitest/config";

/** Crash cycles, races and fuzzing at full size; `npm test` runs the same files small. */
export default defineConfig({
  test: {
    include: [
      "test/campaign/*.test.ts",
      "test/api-v1.test.ts",
      "test/json.test.ts",
      "test/log-mark.test.ts",
      "test/webhook-diagnosis.test.ts",
      "test/webhook-signature.test.ts",
    ],
    reporters: ["verbose", "./test/support/summary-reporter.ts"],
    env: { CAMPAIGN: "full" },
    testTimeout: 1_800_000,
    hookTimeout: 240_000,
    fileParallelism: false,
  },
});
