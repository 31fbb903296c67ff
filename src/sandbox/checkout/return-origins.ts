import { ROOT_PATH, type ReturnOrigin } from "../../core/checkout/return-origin.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { withStore } from "../with-store.ts";
import type { ServiceContext } from "../context.ts";

type OriginOfStore = { readonly storeId: string; readonly origin: string };
type OriginToAdd = OriginOfStore & { readonly path?: string | undefined };

const MAX_RETURN_ORIGINS = 20;

/** An existing origin keeps its place in the list, and its path unless `path` is given. */
export function addReturnOrigin(
  context: ServiceContext,
  { storeId, origin, path }: OriginToAdd,
): Promise<Outcome<ReturnOrigin[]>> {
  return withStore(context, storeId, (store, createdAt) => {
    const origins = store.returnOrigins.list(storeId);
    const knownOrigin = origins.find((entry) => entry.origin === origin);
    if (knownOrigin === undefined && origins.length >= MAX_RETURN_ORIGINS) {
      return refuseFact("too_many_return_origins", { most: MAX_RETURN_ORIGINS });
    }
    store.returnOrigins.put({ storeId, origin, path: path ?? knownOrigin?.path ?? ROOT_PATH, createdAt });
    return accept(store.returnOrigins.list(storeId));
  });
}

export function removeReturnOrigin(
  context: ServiceContext,
  { storeId, origin }: OriginOfStore,
): Promise<Outcome<ReturnOrigin[]>> {
  return withStore(context, storeId, (store) =>
    store.returnOrigins.remove(storeId, origin)
      ? accept(store.returnOrigins.list(storeId))
      : refuseFact("not_return_origin", { origin, store: storeId }),
  );
}
