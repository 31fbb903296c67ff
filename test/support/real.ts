import { realWorld } from "../../src/world/real.ts";

/** The real world of this process. One for all tests: it listens for errors of the standard streams. */
export const REAL = realWorld();
