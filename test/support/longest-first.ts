import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take long. Begun last, as on a machine where no run has measured them, they would run alone at the end. */
const LONG = [
  "pages",
  "idempotency-drill",
  "binary",
  "campaign/shops",
  "listen",
  "drill-kill",
  "duplicates-drill",
  "campaign/client-faults",
  "readiness",
  "storage",
  "doctor",
  "webhooks-package",
  "kit-fixtures",
  "browser-return",
  "readme",
  "no-telemetry",
  "erasure",
  "changed-files",
  "portal-axe",
  "portal-live-page",
];

/** Runs the files that take long first. */
export class LongestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONG.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return at < 0 ? LONG.length : at;
    };
    return Promise.resolve(files.toSorted((left, right) => rank(left) - rank(right)));
  }
}
