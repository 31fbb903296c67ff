import { createPart } from "../../core/fact.ts";
import type { Hold } from "../../core/webhook/hold.ts";
import { printable } from "../../core/text.ts";
import type { Store } from "../../store/store.ts";

export function holdOfStore({ store, folderHold }: HoldContext, storeId: string): Hold | undefined {
  return folderHold ?? (store.heldStores.isHeld(storeId) ? createPart("this_foreign_store", {}) : undefined);
}

export function holdOfSandbox({ store, folderHold }: HoldContext): Hold | undefined {
  if (folderHold !== undefined) return folderHold;
  const [heldStore, ...otherStores] = store.heldStores.all();
  if (heldStore === undefined) return undefined;
  return otherStores.length === 0
    ? createPart("foreign_store", { store: heldStore })
    : createPart("foreign_stores", { count: otherStores.length + 1 });
}

type HoldContext = {
  readonly store: Pick<Store, "heldStores">;
  readonly folderHold: Hold | undefined;
};

/**
 * Returns why the folder may not deliver webhooks: it was copied or moved (decision 71). `adopt` also releases stores
 * from other sandboxes' snapshots.
 */
export async function recordHome(
  store: Pick<Store, "home" | "heldStores" | "write">,
  { path, adopt }: { readonly path: string; readonly adopt: boolean },
): Promise<Hold | undefined> {
  const knownPath = store.home.path();
  if (knownPath !== undefined && !adopt) return holdOfOtherFolder(knownPath, path, "checkout sandbox start");
  await store.write(() => {
    if (adopt) for (const storeId of store.heldStores.all()) store.heldStores.release(storeId);
    store.home.record(path);
  });
  return undefined;
}

export function holdOfOtherFolder(knownPath: string, path: string, start: string): Hold | undefined {
  return knownPath === path ? undefined : createPart("other_folder", { folder: printable(knownPath), start });
}
