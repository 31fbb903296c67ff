import { storeTime } from "../at-store.ts";
import type { World } from "../../world.ts";
import type { ServiceContext } from "../context.ts";
import { createKey } from "../runtime/keys.ts";
import type { DrillKind } from "../../core/readiness/names.ts";
import type { IdempotencyWatch } from "./idempotency-watch.ts";
import type { Lease, Leases } from "./leases.ts";
import type { RetrieveWatch } from "./retrieve-watch.ts";

/** The state that drill leases change. */
export type LeaseContext = Pick<ServiceContext, "store" | "wakeDispatcher"> & {
  readonly world: Pick<World, "now" | "uuid" | "randomBytes">;
  readonly leases: Leases;
  readonly idempotencyWatch: IdempotencyWatch;
  readonly retrieveWatch: RetrieveWatch;
};

/**
 * Opens the lease of a drill for at most this long, with effects that last until the lease ends (decision 66). During
 * `browser_return` and `duplicates`, the store's webhooks are held and retrieves from v1 are watched. `idempotency`
 * creates a separate API key, which is returned.
 */
export async function openDrillLease(
  context: LeaseContext,
  lease: Omit<Lease, "since" | "drill"> & { readonly drill: DrillKind },
  timeoutMs: number,
): Promise<string | null> {
  const { leases, store, retrieveWatch, wakeDispatcher } = context;
  const open = (undo: () => void | Promise<void>): void =>
    leases.open({ ...lease, since: storeTime(context, lease.storeId) }, { timeoutMs, undo });
  switch (lease.drill) {
    case "idempotency":
      return openIdempotencyLease(context, lease, open);
    case "browser_return":
    case "duplicates":
      open(() => {
        retrieveWatch.forget(lease);
        // Send the deliveries that were held back.
        store.endpoints.of(lease.storeId).forEach(({ id }) => wakeDispatcher(id));
      });
      retrieveWatch.begin(lease);
      return null;
    case "webhook":
      // The drill checks its lease before each request.
      open(() => undefined);
      return null;
  }
}

/** Creates a key only for the drill, so that requests with other keys are not attributed to the merchant's client. */
async function openIdempotencyLease(
  { store, world, idempotencyWatch }: LeaseContext,
  lease: Omit<Lease, "since">,
  open: (undo: () => Promise<void>) => void,
): Promise<string> {
  const { storeId } = lease;
  const made = await store.write(() => createKey({ store, world }, { storeId, forDrill: true }));
  const { id: credentialId, lastFour, apiKey } = made;
  open(async () => {
    idempotencyWatch.forget(lease);
    await store.write(() => store.credentials.revoke(credentialId, world.now()));
  });
  idempotencyWatch.begin({ ...lease, credentialId, lastFour });
  return apiKey;
}

/** Revokes the keys of drills that were running when the sandbox ended. */
export function revokeDrillKeys({ store, world }: Pick<LeaseContext, "store" | "world">): Promise<void> {
  return store.write(() => store.credentials.revokeDrills(world.now()));
}
