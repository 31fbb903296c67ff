import { NEW_MERCHANT } from "../../core/control/operations/stores.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import type { StoreDetails } from "../../store/stores.ts";
import { limitOf, permitStore, type Caller } from "../access/caller.ts";
import { refuseUnknownStore } from "../at-store.ts";
import { deleteStore, resetStores } from "../runtime/erase.ts";
import {
  createSnapshot,
  listSnapshots,
  refuseUnknownSnapshot,
  removeSnapshot,
  restoreNamedSnapshot,
} from "../snapshot/named.ts";
import { createStore } from "../runtime/seed.ts";
import type { OperationContext, HandlersOf } from "./handler.ts";
import { countEndpointsWithOwnSecret } from "../webhook/endpoint-secrets.ts";
import { openStoredSecret } from "../webhook/signing-secret.ts";
import type { StoreEntry } from "../../core/store/shapes.ts";

export const storesHandlers = {
  createStore: async (context, { body: { name, merchant, dialect } }) => {
    const isNew = merchant === NEW_MERCHANT;
    const id = isNew ? context.world.uuid() : merchant;
    const wanted = { name, dialect, merchant: id === undefined ? id : { id, isNew } };
    const made = await createStore(context, wanted);
    if (!made.ok) return made;
    const { id: storeId, ...rest } = made.value;
    return accept({ ...rest, storeId });
  },
  listStores: async ({ store }, { caller }) => {
    const own = limitOf(caller)?.storeId;
    const all = store.stores.all().filter(({ id }) => own === undefined || id === own);
    return accept({ stores: all.map(entryOf) });
  },
  storeAccess: async ({ store, masterKey }, { storeId }) => {
    const details = store.stores.details(storeId);
    if (details === undefined) return refuseUnknownStore(storeId);
    const sealed = store.signingSecrets.current(storeId);
    if (sealed === undefined) throw new Error(`store ${storeId} has no signing secret`);
    const signingSecret = openStoredSecret(sealed, masterKey);
    const { merchantId, store: name } = details;
    const ownSecrets = countEndpointsWithOwnSecret(store, storeId);
    return accept({ storeId, merchantId, name, signingSecret, ownSecrets });
  },
  reset: async (context, { body, caller }) => {
    const named = requireOwnStore(caller, body.store);
    if (!named.ok) return named;
    const done = await resetStores(context, body.store);
    if (!done.ok) return done;
    await context.wakeStores(done.value.map(({ storeId }) => storeId));
    return accept({ stores: done.value });
  },
  createStoreSnapshot: async (context, { storeId, caller, body: { name } }) => {
    const isTaken = context.snapshotStorage.size(name) !== undefined;
    if (isTaken && !requireOwnSnapshot(context, caller, name).ok)
      return refuseFact("snapshot_name_taken", {});
    return createSnapshot(context, name, { storeId });
  },
  createSnapshot: async (context, { body: { name } }) => createSnapshot(context, name, "all"),
  listSnapshots: async (context, { caller }) => {
    const own = limitOf(caller)?.storeId;
    const all = listSnapshots(context, context.snapshotStorage);
    return accept({ snapshots: all.filter(({ storeId }) => own === undefined || storeId === own) });
  },
  restoreStoreSnapshot: async (context, { storeId, caller, body: { name, ...options } }) => {
    if (limitOf(caller) !== undefined && (options.trust === true || options.adopt === true))
      return refuseFact("only_own_snapshots", {});
    const own = requireOwnSnapshot(context, caller, name);
    return own.ok ? restoreNamedSnapshot(context, name, { scope: { storeId }, ...options }) : own;
  },
  restoreSnapshot: async (context, { body: { name, all, ...options } }) => {
    const before = context.store.stores.all().map(({ id }) => id);
    const restored = await restoreNamedSnapshot(context, name, {
      scope: all === true ? "all" : "as_taken",
      ...options,
    });
    if (restored.ok) await endLeasesOfGone(context, before);
    return restored;
  },
  removeSnapshot: async (context, { caller, body: { name } }) => {
    const own = requireOwnSnapshot(context, caller, name);
    return own.ok ? removeSnapshot(context.snapshotStorage, name) : own;
  },
  deleteStore: async (context, { storeId }) => {
    const deleted = await deleteStore(context, storeId);
    if (deleted.ok) await endLeasesOfGone(context, [storeId]);
    return deleted;
  },
} satisfies HandlersOf<"stores">;

/** A limited caller resets only its own store, by id. Refuses every other name as unknown. */
function requireOwnStore(caller: Caller, named: string | undefined): Outcome<void> {
  if (named !== undefined) return permitStore(caller, named);
  return limitOf(caller) === undefined ? accept(undefined) : refuseFact("store_id_missing", {});
}

/** A limited caller has only the snapshots of its own store alone. Refuses every other name as unknown. */
function requireOwnSnapshot(context: OperationContext, caller: Caller, name: string): Outcome<void> {
  const own = limitOf(caller)?.storeId;
  if (own === undefined) return accept(undefined);
  const found = listSnapshots(context, context.snapshotStorage).find((one) => one.name === name);
  return found?.storeId === own ? accept(undefined) : refuseUnknownSnapshot(name);
}

/** Ends the leases of deleted stores: this undoes the effects of their drills and notifies the drills' commands. */
async function endLeasesOfGone(
  { store, leases }: Pick<OperationContext, "store" | "leases">,
  storeIds: readonly string[],
): Promise<void> {
  const gone = storeIds.filter((storeId) => store.stores.names(storeId) === undefined);
  for (const storeId of gone) for (const { id } of leases.of(storeId)) await leases.end({ storeId, id });
}

function entryOf({ id, store, merchant, merchantId, active, createdAt }: StoreDetails): StoreEntry {
  return { storeId: id, name: store, merchantId, merchantName: merchant, active, createdAt };
}
