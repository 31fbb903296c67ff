import { NEW_MERCHANT, type StoreEntry, type storesOperations } from "../../core/control/stores.ts";
import { accept, refuse } from "../../core/outcome.ts";
import { openSecret } from "../../core/sealed-secret.ts";
import type { StoreDetails } from "../../store/stores.ts";
import { noStore } from "../at-store.ts";
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
} satisfies Pick<Handlers, Exclude<keyof typeof storesOperations, "reset">>;

function entryOf({ id, store, merchant, merchantId, active, createdAt }: StoreDetails): StoreEntry {
  return { storeId: id, name: store, merchantId, merchantName: merchant, active, createdAt };
}
