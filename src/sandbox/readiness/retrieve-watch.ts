import type { Checkout } from "../../core/checkout/checkout.ts";
import type { HttpRequest } from "../../world.ts";
import { isOwnCommand } from "../api/caller.ts";
import type { LeaseRef } from "./leases.ts";

/** Watches which paid checkouts are retrieved from v1 while drills hold webhooks. */
export type RetrieveWatch = {
  readonly begin: (lease: LeaseRef) => void;
  /** Records a retrieve of a checkout. */
  readonly look: (
    request: Pick<HttpRequest, "rawHeaders">,
    checkout: Pick<Checkout, "id" | "storeId" | "status">,
  ) => void;
  /** The paid checkouts that the merchant has retrieved since the lease began, one entry for each retrieve. */
  readonly of: (lease: LeaseRef) => readonly string[];
  readonly forget: (lease: LeaseRef) => void;
};

/** Maximum number of recorded retrieves of a drill, so that a busy store does not fill the memory. */
const MAX_SEEN = 10_000;

/** Creates a watch without a drill, in memory only. Retrieves by this program's own commands are not counted. */
export function createRetrieveWatch(): RetrieveWatch {
  const watches = new Map<string, { readonly storeId: string; readonly paid: string[] }>();
  return {
    begin: ({ id, storeId }) => void watches.set(id, { storeId, paid: [] }),
    look: (request, { id, storeId, status }) => {
      if (watches.size === 0 || status !== "succeeded" || isOwnCommand(request)) return;
      for (const watch of watches.values())
        if (watch.storeId === storeId && watch.paid.length < MAX_SEEN) watch.paid.push(id);
    },
    of: ({ id }) => [...(watches.get(id)?.paid ?? [])],
    forget: ({ id }) => void watches.delete(id),
  };
}
