import { availableParallelism } from "node:os";
import { defineConfig, mergeConfig } from "vitest/config";
import all from "./vitest.config.ts";

/** Tests that start processes or a browser, and the campaigns. */
const PROCESSES = ["test/real/**/*.test.ts", "test/campaign/**/*.test.ts"];
/** Tests that judge tables of shops, clients and receivers, or run the schedules of explore. */
const TABLES = [
  "test/client/{judge-shops,webhook-drill-receivers,idempotency-clients}.test.ts",
  "test/kit/explore.test.ts",
];

/**
 * `npm run test:fast`: the tests that start no process and need no build. They never wait, so there is one worker for
 * each core: each worker loads and compiles the program, and three more workers take a fifth more processor time.
 */
export default mergeConfig(
  all,
  defineConfig({ test: { exclude: [...PROCESSES, ...TABLES], maxWorkers: availableParallelism() } }),
);
