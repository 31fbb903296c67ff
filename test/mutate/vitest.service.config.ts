import { runOf } from "./vitest.config.ts";

/** The tests that run for each change of creates, deliveries, snapshots and group commits. */
export const SERVICE_TESTS = [
  "client/doubt",
  "client/exchange",
  "client/instance",
  "kit/faults",
  "kit/snapshots",
  "sandbox/api-v1",
  "sandbox/delivery-failures",
  "sandbox/faults",
  "sandbox/foreign-snapshots",
  "sandbox/leases",
  "sandbox/prices",
  "sandbox/webhooks",
  "store/group-commit",
];

export default runOf(SERVICE_TESTS);
