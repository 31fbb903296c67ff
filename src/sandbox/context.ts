import type { Store } from "../store/store.ts";
import type { World } from "../world.ts";
import type { AssumptionLog } from "./readiness/assumption-log.ts";
import type { WriteSignals } from "./runtime/write-signals.ts";
import type { StoreGate } from "./runtime/store-gate.ts";

export type ServiceContext = {
  readonly store: Store;
  readonly world: Pick<World, "now" | "receiverTime" | "uuid">;
  readonly checkoutOrigin: string;
  readonly checkoutLifetimeMs: number;
  /** Announces when a change in the store falls due; `realTime` is in milliseconds by the real clock. */
  readonly expectDue: (storeId: string, realTime: number) => void;
  readonly wakeDispatcher: (endpointId: string) => void;
  readonly writeSignals: Pick<WriteSignals, "notify">;
  readonly storeGate: StoreGate;
  readonly assumptions: AssumptionLog;
};
