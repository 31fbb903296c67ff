import { globSync, readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";

/** The import of a test file that runs at full size in `npm run campaign`. */
const TAKES_A_SIZE = /^import \{[^}]*\b(size|part|FULL)\b[^}]*\} from "(?:\.\.\/)+support\/campaign\.ts";$/m;

/** Crash cycles, races and fuzzing at full size; `npm test` runs the same files with fewer rounds. */
export default defineConfig({
  test: {
    include: globSync("test/**/*.test.ts").filter((path) => TAKES_A_SIZE.test(readFileSync(path, "utf8"))),
    reporters: ["verbose", "./test/support/summary-reporter.ts"],
    env: { CAMPAIGN: "full" },
    testTimeout: 1_800_000,
    hookTimeout: 240_000,
    fileParallelism: false,
    // Keeps the style sheets of pages that a test serves from its own process.
    css: true,
  },
});
