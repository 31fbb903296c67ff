import type { Reporter, TestModule } from "vitest/node";
import { machineLine } from "./machine.ts";

/**
 * Ends the run with the line `N passed, N failed`, with `, N skipped` if tests were skipped, for programs that read
 * only this line. The line before names the shells and languages of this machine.
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
