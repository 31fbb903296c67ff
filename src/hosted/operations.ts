import type { SandboxPart } from "../core/control/operation.ts";
import { CONTROL_OPERATIONS, OPERATION_NAMES } from "../core/control/operations.ts";
import { createPart } from "../core/fact.ts";
import { refuseFact } from "../core/refusals.ts";
import type { SandboxContext } from "../sandbox/sandbox.ts";

export type OperationOverrides = SandboxContext["operations"] & {};

const NEXT_STEPS: Readonly<Record<SandboxPart, string>> = {
  snapshots:
    "use a sandbox for snapshots: checkout sandbox start in another folder; docs/hosted.md has the backup of a hosted service",
  configuration:
    "configure each store by commands: checkout prices, checkout endpoints, checkout return-origins",
  portal: "look with commands: checkout orders list, checkout events list, checkout explain <id>",
  process: "type checkout sandbox stop in its folder, or press Ctrl-C where checkout hosted dev runs",
};

export const REFUSED_OPERATIONS: OperationOverrides = Object.fromEntries(
  OPERATION_NAMES.flatMap((name) => {
    const { part } = CONTROL_OPERATIONS[name];
    if (part === undefined) return [];
    const next = NEXT_STEPS[part];
    return [
      [
        name,
        () =>
          Promise.resolve(refuseFact("hosted_without", { what: createPart(`hosted_${part}`, {}) }, { next })),
      ],
    ];
  }),
);
