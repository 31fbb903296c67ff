import { storeTime } from "../at-store.ts";
import type { ServiceContext } from "../context.ts";
import type { IdempotencyWatch } from "./idempotency-watch.ts";
import type { Lease, Leases } from "./leases.ts";

/** What the leases of drills act on. */
export type LeaseContext = Pick<ServiceContext, "store" | "world" | "wakeDispatcher"> & {
  readonly leases: Leases;
  readonly idempotencyWatch: IdempotencyWatch;
};

/**
 * Opens the lease of a drill, for at most this long, and does what the drill needs until it ends (decision 66). While a
 * `browser_return` or `duplicates` has one, the webhooks of its store wait.
 */
export function openDrillLease(context: LeaseContext, lease: Omit<Lease, "since">, timeoutMs: number): void {
  const { leases, idempotencyWatch } = context;
  const undo = (): void => undoDrill(context, lease);
  leases.open({ ...lease, since: storeTime(context, lease.storeId) }, { timeoutMs, undo });
  if (lease.drill === "idempotency") idempotencyWatch.begin(lease);
}

function undoDrill(
  { store, idempotencyWatch, wakeDispatcher }: LeaseContext,
  lease: Omit<Lease, "since">,
): void {
  switch (lease.drill) {
    case "idempotency":
      return idempotencyWatch.forget(lease);
    case "browser_return":
    case "duplicates":
      // What has waited is sent.
      return store.endpoints.of(lease.storeId).forEach(({ id }) => wakeDispatcher(id));
    case "webhook":
      // It looks at its lease before each request.
      return undefined;
  }
}
