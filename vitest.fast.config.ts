import { availableParallelism } from "node:os";
import { defineConfig, mergeConfig } from "vitest/config";
import all from "./vitest.config.ts";

/** What starts processes or a browser, or is one of the campaigns. */
const PROCESSES = ["test/real/**/*.test.ts", "test/campaign/**/*.test.ts"];
/** The tables of shops, clients and receivers that the drills judge, and the schedules of explore. */
const TABLES = [
  "test/client/{judge-shops,webhook-drill-receivers,idempotency-clients}.test.ts",
  "test/kit/explore.test.ts",
];

/**
 * `npm run test:fast`: what runs within the processes of the tests, and needs no build. It never waits, so it has a worker
 * for each core: each loads and compiles the program for itself, and with three more a run takes a fifth more processor
 * time.
 */
export default mergeConfig(
  all,
  defineConfig({ test: { exclude: [...PROCESSES, ...TABLES], maxWorkers: availableParallelism() } }),
);
