import { askTheKit } from "../support/v1-sandboxes.ts";

/** The tests of v1 once more, through `sandbox.fetch` of the test kit: they are registered by being loaded. */
askTheKit();
await import("../sandbox/api-v1.test.ts?kit");
