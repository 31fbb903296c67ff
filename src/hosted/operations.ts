import { HOSTED_LACKS, lackMessage } from "../core/config/hosted-lacks.ts";
import { refuse } from "../core/outcome.ts";
import type { SandboxContext } from "../sandbox/sandbox.ts";

/** Operations that a hosted service implements in its own way. */
export type OperationOverrides = SandboxContext["operations"] & {};

/** The operations that a hosted service does not have. */
export const REFUSED_OPERATIONS: OperationOverrides = Object.fromEntries(
  HOSTED_LACKS.flatMap((lack) => {
    const refuseHere = () => Promise.resolve(refuse("state_conflict", lackMessage(lack)));
    return lack.operations.map((name) => [name, refuseHere]);
  }),
);
