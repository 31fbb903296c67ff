import { useTestKit } from "../support/v1-sandboxes.ts";

/** Runs the tests of v1 again, through `sandbox.fetch` of the test kit: loading them registers them. */
useTestKit();
await import("../sandbox/api-v1.test.ts?kit");
