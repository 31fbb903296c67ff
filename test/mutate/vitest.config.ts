import { join } from "node:path";
import { defineConfig } from "vitest/config";

/** The tests that run for each change of `npm run mutate`: of the core, of v1 and of the configuration, in one process. */
export const TESTS = [
  "core/checklist",
  "core/json",
  "core/payment",
  "core/target",
  "core/values",
  "real/config",
  "real/webhook-signature",
  "sandbox/api-v1",
  "sandbox/page-security",
  "sandbox/routes",
];

export default defineConfig({
  test: {
    root: join(import.meta.dirname, "../.."),
    include: TESTS.map((name) => `test/${name}.test.ts`),
    setupFiles: ["test/mutate/umask.ts"],
    testTimeout: 240_000,
  },
});
