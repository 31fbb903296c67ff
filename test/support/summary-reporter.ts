import type { Reporter, TestModule } from "vitest/node";

/** Closes the run with `N passed, N failed` alone on a line, for machines that read only that. */
// oxlint-disable-next-line import/no-default-export -- vitest loads a reporter by its default export
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    let passed = 0;
    let failed = 0;
    for (const module of modules) {
      if (module.state() === "failed" && [...module.children.allTests()].length === 0) failed += 1;
      for (const test of module.children.allTests()) {
        if (test.result().state === "passed") passed += 1;
        else failed += 1;
      }
    }
    process.stdout.write(`${passed} passed, ${failed} failed\n`);
  }
}
