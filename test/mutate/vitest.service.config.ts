import { runOf } from "./vitest.config.ts";

/** The tests that run against each mutant of service.config.json. */
export const SERVICE_TESTS = [
  "client/doubt",
  "client/exchange",
  "client/instance",
  "kit/faults",
  "kit/snapshots",
  "portal/live",
  "sandbox/api-v1",
  "sandbox/api-v1-machine",
  "sandbox/assumptions",
  "sandbox/delivery-failures",
  "sandbox/faults",
  "sandbox/foreign-snapshots",
  "sandbox/leases",
  "sandbox/prices",
  "sandbox/unreadable-secrets",
  "sandbox/webhooks",
  "store/erasure",
  "store/group-commit",
];

// A mutated program may never do what a test waits for, so the wait is shorter than a minute.
export default runOf(SERVICE_TESTS, { EVENTUALLY_MS: "5000" });
