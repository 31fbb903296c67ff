import { NEW_MERCHANT } from "../../core/control/operations/stores.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import type { StoreDetails } from "../../store/stores.ts";
import { requireStoreAccess, hasStoreAccess, type Caller } from "../access/caller.ts";
import { refuseUnknownStore } from "../with-store.ts";
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
import type { NamedSnapshot } from "../../core/snapshot/shapes.ts";
import type { StoreEntry } from "../../core/store/shapes.ts";

export const storesHandlers = {
  createStore: async (context, { body: { name, merchant, dialect } }) => {
    const isNew = merchant === NEW_MERCHANT;
    const id = isNew ? context.world.uuid() : merchant;
    const storeInput = { name, dialect, merchant: id === undefined ? id : { id, isNew } };
    const newStore = await createStore(context, storeInput);
    if (!newStore.ok) return newStore;
    const { id: storeId, ...storeFields } = newStore.value;
    return accept({ ...storeFields, storeId });
  },
  listStores: async ({ store }, { caller }) => {
    const permittedStores = store.stores.all().filter(({ id }) => hasStoreAccess(caller, id));
    return accept({ stores: permittedStores.map(entryOf) });
  },
  storeAccess: async ({ store, masterKey }, { storeId }) => {
    const details = store.stores.details(storeId);
    if (details === undefined) return refuseUnknownStore(storeId);
    const sealedSecret = store.signingSecrets.currentSecret(storeId);
    if (sealedSecret === undefined) throw new Error(`store ${storeId} has no signing secret`);
    const signingSecret = openStoredSecret(sealedSecret, masterKey);
    const { merchantId, store: name } = details;
    const ownSecrets = countEndpointsWithOwnSecret(store, storeId);
    return accept({ storeId, merchantId, name, signingSecret, ownSecrets });
  },
  reset: async (context, { body: { store: namedStore }, caller }) => {
    // A limited caller must name its own store: without a name, all stores are reset.
    if (namedStore === undefined && !hasStoreAccess(caller, null)) return refuseFact("store_id_missing", {});
    const permission = requireStoreAccess(caller, namedStore);
    if (!permission.ok) return permission;
    const outcome = await resetStores(context, namedStore);
    if (!outcome.ok) return outcome;
    await context.wakeStores(outcome.value.map(({ storeId }) => storeId));
    return accept({ stores: outcome.value });
  },
  createStoreSnapshot: async (context, { storeId, caller, body: { name } }) => {
    const isTaken = context.snapshotStorage.size(name) !== undefined;
    if (isTaken && !requireOwnSnapshot(context, caller, name).ok)
      return refuseFact("snapshot_name_taken", {});
    return createSnapshot(context, name, { storeId });
  },
  createSnapshot: async (context, { body: { name } }) => createSnapshot(context, name, "all"),
  listSnapshots: async (context, { caller }) => accept({ snapshots: snapshotsOf(context, caller) }),
  restoreStoreSnapshot: async (context, { storeId, caller, body: { name, ...options } }) => {
    if (!hasStoreAccess(caller, null) && (options.trust === true || options.adopt === true))
      return refuseFact("only_own_snapshots", {});
    const check = requireOwnSnapshot(context, caller, name);
    return check.ok ? restoreNamedSnapshot(context, name, { scope: { storeId }, ...options }) : check;
  },
  restoreSnapshot: async (context, { body: { name, all, ...options } }) => {
    const storeIdsBefore = context.store.stores.all().map(({ id }) => id);
    const restoration = await restoreNamedSnapshot(context, name, {
      scope: all === true ? "all" : "as_taken",
      ...options,
    });
    if (restoration.ok) await endOrphanLeases(context, storeIdsBefore);
    return restoration;
  },
  removeSnapshot: async (context, { caller, body: { name } }) => {
    const check = requireOwnSnapshot(context, caller, name);
    return check.ok ? removeSnapshot(context.snapshotStorage, name) : check;
  },
  deleteStore: async (context, { storeId }) => {
    const outcome = await deleteStore(context, storeId);
    if (outcome.ok) await endOrphanLeases(context, [storeId]);
    return outcome;
  },
} satisfies HandlersOf<"stores">;

function snapshotsOf(context: OperationContext, caller: Caller): readonly NamedSnapshot[] {
  return listSnapshots(context, context.snapshotStorage).filter(({ storeId }) =>
    hasStoreAccess(caller, storeId),
  );
}

function requireOwnSnapshot(context: OperationContext, caller: Caller, name: string): Outcome<void> {
  const isOwn =
    hasStoreAccess(caller, null) || snapshotsOf(context, caller).some((item) => item.name === name);
  return isOwn ? accept(undefined) : refuseUnknownSnapshot(name);
}

async function endOrphanLeases(
  { store, leases }: Pick<OperationContext, "store" | "leases">,
  storeIds: readonly string[],
): Promise<void> {
  const deletedIds = storeIds.filter((storeId) => store.stores.names(storeId) === undefined);
  for (const storeId of deletedIds)
    for (const { id } of leases.of(storeId)) await leases.end({ storeId, id });
}

function entryOf({ id, store, merchant, merchantId, active, createdAt }: StoreDetails): StoreEntry {
  return { storeId: id, name: store, merchantId, merchantName: merchant, active, createdAt };
}
