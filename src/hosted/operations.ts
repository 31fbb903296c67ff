import { HOSTED_MISSING_PARTS } from "../core/control/hosted-missing-parts.ts";
import { refuse } from "../core/outcome.ts";
import type { SandboxContext } from "../sandbox/sandbox.ts";

/** Operations that a hosted service implements in its own way. */
export type OperationOverrides = SandboxContext["operations"] & {};

export const REFUSED_OPERATIONS: OperationOverrides = Object.fromEntries(
  HOSTED_MISSING_PARTS.flatMap(({ what: [english, chinese], operations, next }) => {
    const words = [`a hosted service has no ${english}`, `托管服务没有${chinese}`] as const;
    const refuseHere = () => Promise.resolve(refuse("state_conflict", words, { next }));
    return operations.map((name) => [name, refuseHere]);
  }),
);
