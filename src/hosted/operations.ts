import { HOSTED_MISSING_PARTS, missingPartMessage } from "../core/control/hosted-missing-parts.ts";
import { refuse } from "../core/outcome.ts";
import type { SandboxContext } from "../sandbox/sandbox.ts";

/** Operations that a hosted service implements in its own way. */
export type OperationOverrides = SandboxContext["operations"] & {};

/** The operations that a hosted service does not have. */
export const REFUSED_OPERATIONS: OperationOverrides = Object.fromEntries(
  HOSTED_MISSING_PARTS.flatMap((part) => {
    const refuseHere = () => Promise.resolve(refuse("state_conflict", missingPartMessage(part)));
    return part.operations.map((name) => [name, refuseHere]);
  }),
);
