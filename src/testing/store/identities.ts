import { hashKey } from "../../core/credential.ts";
import type { Calls } from "../calls.ts";
import { refuseClosed, type Running } from "../running.ts";
import type { Store } from "../types.ts";

/** Who a store is, with its secrets. */
export type StoreIdentity = Pick<Store, "id" | "merchantId" | "name" | "apiKey" | "signingSecret">;

/** Who the stores are that a sandbox has, or had: one that was deleted comes back with a restore. */
export type Identities = {
  readonly add: (identity: StoreIdentity) => void;
  /** That of a store that is known. */
  readonly of: (storeId: string) => StoreIdentity;
  /** Reads those of stores that were restored: a snapshot of another sandbox has its own secrets, and no key. */
  readonly renew: (storeIds: readonly string[]) => Promise<void>;
};

/** Keeps what handles of stores tell of them. */
export function createIdentities(running: Running, calls: Calls): Identities {
  const known = new Map<string, StoreIdentity>();
  const keyOf = async (storeId: string): Promise<string> => {
    const apiKey = known.get(storeId)?.apiKey;
    refuseClosed(running);
    const { ownerOf } = running.context.store.credentials;
    // One that was revoked stays the store's.
    if (apiKey !== undefined && ownerOf(hashKey(apiKey))?.storeId === storeId) return apiKey;
    return (await calls.control({ name: "createKey", storeId, body: {} })).apiKey;
  };
  return {
    add: (identity) => void known.set(identity.id, identity),
    of: (storeId) => {
      const found = known.get(storeId);
      if (found === undefined) throw new Error("each handle is of a store that is known");
      return found;
    },
    renew: async (storeIds) => {
      for (const id of storeIds) {
        const { storeId: _, ...read } = await calls.control({
          name: "storeAccess",
          storeId: id,
          body: undefined,
        });
        known.set(id, { ...read, id, apiKey: await keyOf(id) });
      }
    },
  };
}
