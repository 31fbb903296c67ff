import type { OperationName } from "./operations.ts";
import type { Words } from "../language.ts";

/** A part of a sandbox that a hosted service (decision 124) does not have. */
type MissingPart = {
  /** Its name in a refusal, in both languages. */
  readonly what: Words;
  readonly operations: readonly OperationName[];
  readonly next: string;
};

/** The parts that a hosted service does not have: they are about a folder, a process, or all stores at once. */
export const HOSTED_MISSING_PARTS: readonly MissingPart[] = [
  {
    what: ["snapshots", "快照"],
    operations: [
      "createStoreSnapshot",
      "createSnapshot",
      "listSnapshots",
      "restoreStoreSnapshot",
      "restoreSnapshot",
      "removeSnapshot",
    ],
    next: "use a sandbox for snapshots: checkout sandbox start in another folder; docs/hosted.md has the backup of a hosted service",
  },
  {
    what: ["configuration of all stores", "全部商店的配置"],
    operations: ["showConfig", "applyConfig"],
    next: "configure each store by commands: checkout prices, checkout endpoints, checkout return-origins",
  },
  {
    what: ["portal", "控制台"],
    operations: ["createSignIn", "endPortalSessions", "saveStory"],
    next: "look with commands: checkout orders list, checkout events list, checkout explain <id>",
  },
  {
    what: ["operation to stop it", "停止操作"],
    operations: ["stopSandbox"],
    next: "type checkout sandbox stop in its folder, or press Ctrl-C where checkout hosted dev runs",
  },
];

/** Whether a hosted service refuses an operation. */
export function isRefusedWhenHosted(name: OperationName): boolean {
  return HOSTED_MISSING_PARTS.some(({ operations }) => operations.includes(name));
}
