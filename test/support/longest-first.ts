import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take long. Begun last, as on a machine where no run has measured them, they would run alone at the end. */
const LONG = [
  "pages",
  "idempotency-drill",
  "campaign/shops",
  "readiness",
  "campaign/client-faults",
  "binary",
  "drill-kill",
  "listen",
  "duplicates-drill",
  "readme",
  "changed-files",
  "doctor",
  "storage",
  "portal-frame",
  "no-telemetry",
  "portal-axe",
  "webhooks-package",
  "portal-live-forms",
  "webhook-diagnosis",
  "browser-return",
  "portal-live-page",
  "portal-foreign",
  "kit-fixtures",
  "fault-shops",
  "campaign/disk-faults",
  "listen-process",
  "address",
  "config",
  "campaign/payment-model",
  "faults",
  "detach",
  "erasure",
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
