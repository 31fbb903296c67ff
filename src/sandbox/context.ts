import type { Store } from "../store/store.ts";
import type { World } from "../world.ts";
import type { AssumptionLog } from "./readiness/assumption-log.ts";

/** What the verbs need: the state, time and ids, and the address that customers are sent to. */
export type ServiceContext = {
  readonly store: Store;
  readonly world: Pick<World, "now" | "uuid">;
  readonly checkoutOrigin: string;
  /** How long a checkout that is created now can be paid (decision 10). */
  readonly checkoutLifetimeMs: number;
  /** Told when something of a store falls due: milliseconds by the real clock. */
  readonly expectDue: (realTime: number) => void;
  /** Told when something for an endpoint may be due. */
  readonly wakeDispatcher: (endpointId: string) => void;
  /** Told what integrations rely on that the interface leaves open. */
  readonly assumptions: AssumptionLog;
};
