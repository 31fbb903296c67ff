import { refuse, type Outcome } from "../core/outcome.ts";
import type { SandboxContext } from "../sandbox/sandbox.ts";

/** Operations that a sandbox implements itself. */
export type OwnOperations = SandboxContext["operations"] & {};

const SNAPSHOTS = refuseHere("snapshots", "快照");
const CONFIG = refuseHere("configuration of all stores", "全部商店的配置");
const PORTAL = refuseHere("portal", "管理门户");

/** The operations that a hosted service does not have: they are about a folder, a process, or all stores at once. */
export const REFUSED_OPERATIONS: OwnOperations = {
  createStoreSnapshot: SNAPSHOTS,
  createSnapshot: SNAPSHOTS,
  listSnapshots: SNAPSHOTS,
  restoreStoreSnapshot: SNAPSHOTS,
  restoreSnapshot: SNAPSHOTS,
  removeSnapshot: SNAPSHOTS,
  showConfig: CONFIG,
  applyConfig: CONFIG,
  createSignIn: PORTAL,
  endPortalSessions: PORTAL,
  stopSandbox: refuseHere("operation to stop it", "停止操作"),
};

function refuseHere(english: string, chinese: string): () => Promise<Outcome<never>> {
  return () =>
    Promise.resolve(
      refuse("state_conflict", [`a hosted service has no ${english}`, `托管服务没有${chinese}`]),
    );
}
