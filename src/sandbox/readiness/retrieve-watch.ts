import type { Checkout } from "../../core/checkout/checkout.ts";
import type { HttpRequest } from "../../world.ts";
import { isOwnCommand } from "../api/caller.ts";
import type { LeaseRef } from "./leases.ts";

/** Watches, while drills of a browser's return run, which checkouts v1 tells to be paid, and to whom. */
export type RetrieveWatch = {
  readonly begin: (lease: LeaseRef) => void;
  /** Sees a checkout that was retrieved. */
  readonly look: (request: HttpRequest, checkout: Pick<Checkout, "id" | "storeId" | "status">) => void;
  /** The paid checkouts that the merchant has retrieved since the lease began. */
  readonly of: (lease: LeaseRef) => readonly string[];
  readonly forget: (lease: LeaseRef) => void;
};

/** Maximum number of checkouts that are remembered for a drill, so that a busy store does not fill the memory. */
const MAX_SEEN = 10_000;

/** Makes a watch without a drill; it is in memory alone. What a command of this program asks does not count. */
export function createRetrieveWatch(): RetrieveWatch {
  const watches = new Map<string, { readonly storeId: string; readonly paid: Set<string> }>();
  return {
    begin: ({ id, storeId }) => void watches.set(id, { storeId, paid: new Set() }),
    look: (request, { id, storeId, status }) => {
      if (watches.size === 0 || status !== "succeeded" || isOwnCommand(request)) return;
      for (const watch of watches.values())
        if (watch.storeId === storeId && watch.paid.size < MAX_SEEN) watch.paid.add(id);
    },
    of: ({ id }) => [...(watches.get(id)?.paid ?? [])],
    forget: ({ id }) => void watches.delete(id),
  };
}
