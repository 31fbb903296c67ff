import { partOf } from "../../core/fact.ts";
import type { Hold } from "../../core/webhook/hold.ts";
import { printable } from "../../core/text.ts";
import type { Store } from "../../store/store.ts";

/** Why nothing is delivered from a store: its folder delivers nothing, or the store was not adopted (decision 95). */
export function holdOfStore({ store, folderHold }: HoldContext, storeId: string): Hold | undefined {
  return folderHold ?? (store.heldStores.isHeld(storeId) ? partOf("this_foreign_store", {}) : undefined);
}

/** Why nothing is delivered from the sandbox, or from some of its stores; undefined if no store is held. */
export function holdOfSandbox({ store, folderHold }: HoldContext): Hold | undefined {
  if (folderHold !== undefined) return folderHold;
  const [heldStore, ...otherStores] = store.heldStores.all();
  if (heldStore === undefined) return undefined;
  return otherStores.length === 0
    ? partOf("foreign_store", { store: heldStore })
    : partOf("foreign_stores", { count: otherStores.length + 1 });
}

type HoldContext = {
  readonly store: Pick<Store, "heldStores">;
  /** Why no store of the folder delivers (decision 71); undefined if the folder may deliver. */
  readonly folderHold: Hold | undefined;
};

/**
 * Compares the state's folder with the recorded folder (decision 71). Records the folder if none was recorded, or if
 * the state is adopted; this also adopts stores from other sandboxes' snapshots. Returns why the folder may not
 * deliver: the state is a copy, was moved, or came from another user. Otherwise undefined.
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

/** Why nothing is delivered from a state that belongs to another folder; undefined if it belongs to this folder. */
export function holdOfOtherFolder(knownPath: string, path: string, start: string): Hold | undefined {
  return knownPath === path ? undefined : partOf("other_folder", { folder: printable(knownPath), start });
}
