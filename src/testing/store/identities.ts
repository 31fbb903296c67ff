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
    // A revoked key is found as well, so a handle keeps it instead of getting a new one.
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
    /** Needed after a restore, because another sandbox's snapshot has other secrets and no API keys. */
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
