import type { Store } from "../store/store.ts";
import type { World } from "../world.ts";
import type { AssumptionLog } from "./readiness/assumption-log.ts";
import type { WriteSignals } from "./runtime/write-signals.ts";
import type { StoreGate } from "./runtime/store-gate.ts";

/** The context of all verbs: the state, time and ids, and the address of the payment pages. */
export type ServiceContext = {
  readonly store: Store;
  readonly world: Pick<World, "now" | "receiverTime" | "uuid">;
  readonly checkoutOrigin: string;
  /** Lifetime of new checkouts, in milliseconds (decision 10). */
  readonly checkoutLifetimeMs: number;
  /** Called with the time at which a change in a store falls due, in milliseconds by the real clock. */
  readonly expectDue: (storeId: string, realTime: number) => void;
  /** Called when a delivery to an endpoint may be due. */
  readonly wakeDispatcher: (endpointId: string) => void;
  /** Notifies waiting requests and open pages of writes in a store. */
  readonly writeSignals: Pick<WriteSignals, "notify">;
  /** Keeps requests out of a store that is being erased. */
  readonly storeGate: StoreGate;
  /** Records the gaps of the interface on which integrations rely. */
  readonly assumptions: AssumptionLog;
};
