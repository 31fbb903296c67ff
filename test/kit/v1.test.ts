import { vi } from "vitest";

// Another file of this worker may have loaded these tests: they are registered by being loaded, here once more.
vi.resetModules();
const { askTheKit } = await import("../support/v1-sandboxes.ts");

/** The tests of v1 once more, through `sandbox.fetch` of the test kit. */
askTheKit();
await import("../sandbox/api-v1.test.ts");
// No file that comes after this one asks the kit.
vi.resetModules();
