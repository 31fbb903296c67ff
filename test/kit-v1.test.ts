import { askTheKit } from "./support/v1-sandboxes.ts";

/** The tests of v1 once more, through `sandbox.fetch` of the test kit. */
askTheKit();
await import("./api-v1.test.ts");
