import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Slow test files, as paths in `test/`. Until vitest has measured them on a machine, it could start them last, and run
 * them alone at the end. Files that mostly wait (the shops, the drills) are not adjacent, so that other files use the
 * processors meanwhile.
 */
export const SLOW_FILES: readonly string[] = [
  "real/whole-shops",
  "campaign/shops",
  "real/idempotency-drill",
  "real/payment-page",
  "real/hosted",
  "real/journeys",
  "real/skill",
  "real/scenarios",
  "real/executable",
  "campaign/explore",
  "real/drill-kill",
  "sandbox/leases",
  "client/judge-shops",
  "real/portal-axe",
  "real/kit",
  "real/portal-frame",
  "real/bad-requests",
  "client/listen",
  "campaign/hosted-states",
  "kit/explore",
  "client/idempotency-clients",
  "campaign/shop-pairs",
  "real/snapshots",
  "real/documents",
  "real/portal-foreign",
  "real/fault-shops",
  "real/documents-kit",
  "real/webhooks-package",
  "client/webhook-drill-receivers",
  "real/storage",
  "real/config",
  "core/webhook-diagnosis",
  "real/doctor",
  "real/receivers",
  "real/detach",
  "campaign/client-faults",
  "real/listen-process",
  "real/kit-fixtures",
  "real/ci-files",
  "real/outputs",
  "real/no-telemetry",
  "real/portal-live-forms",
  "real/portal-live-page",
  "campaign/snapshot-kill",
  "campaign/parallel-creates",
  "campaign/payment-model",
  "real/exec",
  "campaign/payment-kill",
  "campaign/exec",
  "campaign/disk-faults",
  "real/portal-snippets",
  "campaign/erasure-kill",
  "campaign/request-log-kill",
  "store/changed-files",
];

/** Runs the slow files first. */
export class LongestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = SLOW_FILES.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return at < 0 ? SLOW_FILES.length : at;
    };
    return Promise.resolve(files.toSorted((left, right) => rank(left) - rank(right)));
  }
}
