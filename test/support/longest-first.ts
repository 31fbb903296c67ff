import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files that take long: begun last, as on a machine where no run has measured them, they would run alone at the end.
 * Those that mostly wait (the shops, the drills) stand apart, so that others use the processors meanwhile.
 */
const LONG = [
  "campaign/shops",
  "pages",
  "idempotency-drill",
  "binary",
  "drill-kill",
  "portal-axe",
  "kit",
  "portal-frame",
  "storage",
  "listen",
  "kit-fixtures",
  "webhook-diagnosis",
  "readme",
  "browser-return",
  "bad-requests",
  "doctor",
  "receivers",
  "fault-shops",
  "detach",
  "campaign/client-faults",
  "listen-process",
  "ci-files",
  "portal-live-forms",
  "portal-live-page",
  "campaign/snapshot-kill",
  "campaign/parallel-creates",
  "campaign/payment-model",
  "exec",
  "duplicates-drill",
  "portal-foreign",
  "webhooks-package",
  "campaign/payment-kill",
  "campaign/exec",
  "campaign/disk-faults",
  "portal-snippets",
  "campaign/erasure-kill",
  "readme-kit",
  "campaign/request-log-kill",
  "config",
  "changed-files",
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
