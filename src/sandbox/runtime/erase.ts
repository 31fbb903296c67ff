import type { StoreClock } from "../../core/clock.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import type { Erasure } from "../../store/erasures.ts";
import type { Store } from "../../store/store.ts";
import type { World } from "../../world.ts";
import { refuseUnknownStore } from "../with-store.ts";
import type { ServiceContext } from "../context.ts";
import type { StoreGate } from "./store-gate.ts";
import type { ErasedStore } from "../../core/store/shapes.ts";

export type ErasureContext = {
  readonly store: Pick<Store, "write" | "erasures" | "stores" | "clocks" | "instance">;
  readonly world: Pick<World, "freshId">;
  readonly storeGate: Pick<StoreGate, "runAlone">;
  readonly assumptions: Pick<ServiceContext["assumptions"], "forget">;
  /** Deletes the store's data outside this database. The next start repeats the deletion if it was interrupted. */
  readonly forgetStore: (erasure: Erasure) => void | Promise<void>;
  /** Called after each commit that gives the sandbox a new instance id (decision 96). */
  readonly onNewInstance: () => void;
  readonly startClock?: StoreClock | undefined;
};

/**
 * Deletes the stores' history and keeps their settings. Requests to the stores wait meanwhile. Refuses if several
 * stores have the name, or if requests to a store do not end in time.
 */
export async function resetStores(
  context: ErasureContext,
  nameOrId: string | undefined,
): Promise<Outcome<readonly ErasedStore[]>> {
  const { store, storeGate, world } = context;
  const chosenStores = findStoresToErase(context, nameOrId);
  if (!chosenStores.ok) return chosenStores;
  const ids = chosenStores.value.map(({ storeId }) => storeId);
  return storeGate.runAlone(ids, async () => {
    await store.write(() => {
      for (const storeId of ids)
        if (store.stores.details(storeId) !== undefined) store.erasures.begin({ storeId, kind: "reset" });
      store.instance.renew(world.freshId());
    });
    context.onNewInstance();
    await finishErasures(context, ids);
    const stores = chosenStores.value.filter(({ storeId }) => store.stores.details(storeId) !== undefined);
    return stores.length === 0 && nameOrId !== undefined ? refuseUnknownStore(nameOrId) : accept(stores);
  });
}

/**
 * Also deletes the merchant if it has no other store. Refuses the first store, and a store whose requests do not end in
 * time.
 */
export function deleteStore(context: ErasureContext, storeId: string): Promise<Outcome<ErasedStore>> {
  const { store, storeGate } = context;
  return storeGate.runAlone([storeId], async () => {
    const erasure = await store.write((): Outcome<ErasedStore> => {
      const details = store.stores.details(storeId);
      if (details === undefined) return refuseUnknownStore(storeId);
      if (store.stores.first()?.id === storeId) return refuseFact("first_store", { store: storeId });
      store.erasures.begin({ storeId, kind: "delete" });
      return accept({ storeId, name: details.store });
    });
    if (erasure.ok) await finishErasures(context, [storeId]);
    return erasure;
  });
}

/** Works in batches, so that other stores are served meanwhile. Default: all interrupted erasures. */
export async function finishErasures(
  { store, assumptions, forgetStore, startClock }: FinishErasureContext,
  storeIds?: readonly string[],
): Promise<void> {
  const erasures = store.erasures.pending().filter(({ storeId }) => storeIds?.includes(storeId) ?? true);
  for (const erasure of erasures) {
    const { storeId, kind } = erasure;
    await forgetStore(erasure);
    const eraseNext = (): boolean => {
      const isOver = store.erasures.eraseBatch(erasure);
      assumptions.forget(storeId);
      if (isOver && startClock !== undefined && kind === "reset") store.clocks.set(storeId, startClock);
      return isOver;
    };
    for (let isOver = false; !isOver;) isOver = await store.write(eraseNext);
  }
}

type FinishErasureContext = Omit<ErasureContext, "world" | "storeGate" | "onNewInstance">;

/** Default: all stores. Refuses a name that several stores have. */
export function findStoresToErase(
  { store }: Pick<ErasureContext, "store">,
  nameOrId: string | undefined,
): Outcome<readonly ErasedStore[]> {
  const allStores = store.stores.all().map(({ id: storeId, store: name }) => ({ storeId, name }));
  if (nameOrId === undefined) return accept(allStores);
  const idMatches = allStores.filter(({ storeId }) => storeId === nameOrId.toLowerCase());
  const matches = idMatches.length > 0 ? idMatches : allStores.filter(({ name }) => name === nameOrId);
  const ids = matches.map(({ storeId }) => storeId);
  if (ids.length > 1) return refuseFact("several_stores", { name: nameOrId, stores: ids });
  return ids.length === 0 ? refuseUnknownStore(nameOrId) : accept(matches);
}
