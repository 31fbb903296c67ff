import type { Reporter, TestModule } from "vitest/node";
import { machineLine } from "./machine.ts";

/**
 * Ends the run with `N passed, N failed` alone on a line, for programs that read only this line. The line before names
 * the shells and languages of the run.
 */
// oxlint-disable-next-line import/no-default-export -- vitest loads a reporter by its default export
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const states = modules.flatMap((module) => {
      const tests = [...module.children.allTests()].map((test) => test.result().state);
      // A file that cannot be loaded has no tests, and counts as failed.
      return tests.length === 0 && !module.ok() ? ["failed"] : tests;
    });
    const count = (wanted: string): number => states.filter((state) => state === wanted).length;
    const skipped = count("skipped") + count("pending");
    const rest = skipped === 0 ? "" : `, ${skipped} skipped`;
    process.stdout.write(`${machineLine()}\n${count("passed")} passed, ${count("failed")} failed${rest}\n`);
  }
}
