import { hashKey } from "../../core/credential.ts";
import type { Calls } from "../calls.ts";
import { refuseClosed, type InProcessSandbox } from "../in-process.ts";
import type { Store } from "../types.ts";

export type StoreIdentity = Pick<Store, "id" | "merchantId" | "name" | "apiKey" | "signingSecret">;

export type Identities = Readonly<ReturnType<typeof createIdentities>>;

export function createIdentities(sandbox: InProcessSandbox, calls: Calls) {
  const identities = new Map<string, StoreIdentity>();
  const keyOf = async (storeId: string): Promise<string> => {
    const apiKey = identities.get(storeId)?.apiKey;
    refuseClosed(sandbox);
    const { findByHash } = sandbox.context.store.credentials;
    // A store keeps its key here even after the key is revoked.
    if (apiKey !== undefined && findByHash(hashKey(apiKey))?.storeId === storeId) return apiKey;
    return (await calls.control({ name: "createKey", storeId, body: {} })).apiKey;
  };
  return {
    add: (identity: StoreIdentity) => void identities.set(identity.id, identity),
    of: (storeId: string): StoreIdentity => {
      const identity = identities.get(storeId);
      if (identity === undefined) throw new Error("each handle is of a store that is known");
      return identity;
    },
    /** A snapshot from another sandbox has other secrets, and no API key. */
    renew: async (storeIds: readonly string[]) => {
      for (const id of storeIds) {
        const { storeId: _, ...access } = await calls.control({
          name: "storeAccess",
          storeId: id,
          body: undefined,
        });
        identities.set(id, { ...access, id, apiKey: await keyOf(id) });
      }
    },
  };
}
