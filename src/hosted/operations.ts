import type { SandboxPart } from "../core/control/operation.ts";
import { CONTROL_OPERATIONS, OPERATION_NAMES } from "../core/control/operations.ts";
import type { Words } from "../core/language.ts";
import { refuse } from "../core/outcome.ts";
import type { SandboxContext } from "../sandbox/sandbox.ts";

/** Operations that a hosted service implements in its own way. */
export type OperationOverrides = SandboxContext["operations"] & {};

/** The parts of a sandbox that a hosted service (decision 124) does not have: their names, and the next step. */
const MISSING_PARTS: Readonly<Record<SandboxPart, { readonly what: Words; readonly next: string }>> = {
  snapshots: {
    what: ["snapshots", "快照"],
    next: "use a sandbox for snapshots: checkout sandbox start in another folder; docs/hosted.md has the backup of a hosted service",
  },
  configuration: {
    what: ["configuration of all stores", "全部商店的配置"],
    next: "configure each store by commands: checkout prices, checkout endpoints, checkout return-origins",
  },
  portal: {
    what: ["portal", "控制台"],
    next: "look with commands: checkout orders list, checkout events list, checkout explain <id>",
  },
  process: {
    what: ["operation to stop it", "停止操作"],
    next: "type checkout sandbox stop in its folder, or press Ctrl-C where checkout hosted dev runs",
  },
};

export const REFUSED_OPERATIONS: OperationOverrides = Object.fromEntries(
  OPERATION_NAMES.flatMap((name) => {
    const { part } = CONTROL_OPERATIONS[name];
    if (part === undefined) return [];
    const { what, next } = MISSING_PARTS[part];
    const words = [`a hosted service has no ${what[0]}`, `托管服务没有${what[1]}`] as const;
    return [[name, () => Promise.resolve(refuse("state_conflict", words, { next }))]];
  }),
);
