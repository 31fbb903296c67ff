import { NEW_MERCHANT, type StoreEntry, type storesOperations } from "../../core/control/stores.ts";
import { accept, refuse } from "../../core/outcome.ts";
import { openSecret } from "../../core/sealed-secret.ts";
import type { StoreDetails } from "../../store/stores.ts";
import { noStore } from "../at-store.ts";
import { deleteStore, resetStores } from "../runtime/erase.ts";
import { createStore } from "../runtime/seed.ts";
import type { Handlers } from "./handler.ts";

/** What each operation on the stores of a sandbox does. */
export const storesHandlers = {
  createStore: async (context, { body: { name, merchant } }) => {
    const isNew = merchant === NEW_MERCHANT;
    const id = isNew ? context.world.uuid() : merchant;
    const made = await createStore(context, { name, merchant: id === undefined ? id : { id, isNew } });
    if (!made.ok) return made;
    const { id: storeId, ...rest } = made.value;
    return accept({ ...rest, storeId });
  },
  listStores: async ({ store }) => accept({ stores: store.stores.all().map(entryOf) }),
  storeAccess: async ({ store, masterKey }, { storeId }) => {
    const details = store.stores.details(storeId);
    if (details === undefined) return noStore(storeId);
    const sealed = store.signingSecrets.current(storeId);
    const signingSecret = sealed && openSecret(sealed, masterKey);
    if (signingSecret === undefined)
      return refuse("state_conflict", `the master key cannot decrypt the signing secret of store ${storeId}`);
    const { merchantId, store: name } = details;
    return accept({ storeId, merchantId, name, signingSecret });
  },
  reset: async (context, { body }) => {
    const done = await resetStores(context, body.store);
    if (!done.ok) return done;
    await context.wakeStores(done.value.map(({ storeId }) => storeId));
    return accept({ stores: done.value });
  },
  deleteStore: async (context, { storeId }) => {
    const deleted = await deleteStore(context, storeId);
    // What a drill holds there is undone by its end, and so its command hears of it.
    if (deleted.ok)
      for (const { id } of context.leases.of(storeId)) await context.leases.end({ storeId, id });
    return deleted;
  },
} satisfies Pick<Handlers, keyof typeof storesOperations>;

function entryOf({ id, store, merchant, merchantId, active, createdAt }: StoreDetails): StoreEntry {
  return { storeId: id, name: store, merchantId, merchantName: merchant, active, createdAt };
}
