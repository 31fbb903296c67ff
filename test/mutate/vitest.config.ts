import { join } from "node:path";
import { defineConfig } from "vitest/config";

/** The tests that run against each mutant of core.config.json, in one process. */
export const TESTS = [
  "core/checklist",
  "core/json",
  "core/payment",
  "core/target",
  "core/values",
  "real/config",
  "real/webhook-signature",
  "sandbox/api-v1",
  "sandbox/api-v1-machine",
  "sandbox/page-security",
  "sandbox/routes",
];

/** The vitest configuration that runs these tests with these environment variables. */
export function runOf(tests: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return defineConfig({
    test: {
      root: join(import.meta.dirname, "../.."),
      include: tests.map((name) => `test/${name}.test.ts`),
      setupFiles: ["test/mutate/umask.ts"],
      testTimeout: 240_000,
      env,
    },
  });
}

export default runOf(TESTS);
