import { accept, refuse, type Outcome } from "../../core/outcome.ts";
import type { Store } from "../../store/store.ts";
import type { ServiceContext } from "../context.ts";

/** A store that was reset. */
export type ResetStore = { readonly storeId: string; readonly name: string };

/** What a reset needs; a sandbox that runs also has to forget what it remembers of a store. */
type ResetContext = {
  readonly store: Pick<Store, "write" | "resets">;
  readonly assumptions?: Pick<ServiceContext["assumptions"], "forget">;
};

/**
 * Deletes everything that has happened in a store, named by its id or its name, or in all of them: in one transaction, so
 * that every request sees either before or after. Refuses with `not_found`, and with `state_conflict` where several stores
 * have the name.
 */
export function resetStores(
  { store, assumptions }: ResetContext,
  wanted: string | undefined,
): Promise<Outcome<readonly ResetStore[]>> {
  return store.write(() => {
    const chosen = choose(store.resets.stores(), wanted);
    if (!chosen.ok) return chosen;
    for (const { storeId } of chosen.value) {
      store.resets.reset(storeId);
      assumptions?.forget(storeId);
    }
    return chosen;
  });
}

function choose(all: readonly ResetStore[], wanted: string | undefined): Outcome<readonly ResetStore[]> {
  if (wanted === undefined) return accept(all);
  const byId = all.filter(({ storeId }) => storeId === wanted.toLowerCase());
  const found = byId.length > 0 ? byId : all.filter(({ name }) => name === wanted);
  const ids = found.map(({ storeId }) => storeId);
  if (ids.length > 1)
    return refuse("state_conflict", `several stores have the name ${wanted}: ${ids.join(", ")}`);
  return ids.length === 0 ? refuse("not_found", `there is no store ${wanted}`) : accept(found);
}
