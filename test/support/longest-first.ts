import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files that take long, by their paths in `test/`: begun last, as on a machine where no run has measured them, they would
 * run alone at the end. Those that mostly wait (the shops, the drills) stand apart, so that others use the processors
 * meanwhile.
 */
export const LONG: readonly string[] = [
  "campaign/shops",
  "real/whole-shops",
  "real/payment-page",
  "real/idempotency-drill",
  "real/scenarios",
  "real/executable",
  "real/drill-kill",
  "real/portal-axe",
  "real/kit",
  "real/portal-frame",
  "real/storage",
  "client/listen",
  "real/kit-fixtures",
  "core/webhook-diagnosis",
  "real/documents",
  "real/browser-return",
  "real/bad-requests",
  "real/doctor",
  "real/receivers",
  "real/fault-shops",
  "real/detach",
  "campaign/client-faults",
  "real/listen-process",
  "real/ci-files",
  "real/portal-live-forms",
  "real/portal-live-page",
  "campaign/snapshot-kill",
  "campaign/parallel-creates",
  "campaign/payment-model",
  "real/exec",
  "client/duplicates-drill",
  "real/portal-foreign",
  "real/webhooks-package",
  "campaign/payment-kill",
  "campaign/exec",
  "campaign/disk-faults",
  "real/portal-snippets",
  "campaign/erasure-kill",
  "real/documents-kit",
  "campaign/request-log-kill",
  "real/config",
  "store/changed-files",
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
