import { SCOPES } from "../../core/credential.ts";
import { accept, mapValue } from "../../core/outcome.ts";
import type { KeySummary } from "../../store/credentials.ts";
import { withStore } from "../with-store.ts";
import { createKey, revokeKey } from "../runtime/keys.ts";
import type { HandlersOf } from "./handler.ts";

export const keyHandlers = {
  createKey: (context, { storeId, body: { scopes: requestedScopes = SCOPES } }) =>
    withStore(context, storeId, () => {
      const scopes = SCOPES.filter((scope) => requestedScopes.includes(scope));
      const { id: keyId, ...newKey } = createKey(context, { storeId, scopes });
      return accept({ ...newKey, keyId });
    }),
  listKeys: async ({ store }, { storeId }) =>
    accept({ storeId, keys: store.credentials.of(storeId).map(renameKeyId) }),
  revokeKey: async (context, { storeId, id }) =>
    mapValue(await revokeKey(context, { storeId, id }), (key) => ({ ...renameKeyId(key), storeId })),
  createToken: ({ tokens }, { storeId, body }) => tokens.issue("token", { storeId, ...body }),
  listTokens: async ({ store }, { storeId }) => accept({ storeId, tokens: store.tokens.of(storeId) }),
  revokeToken: ({ tokens }, { storeId, id }) => tokens.revoke(storeId, id),
  showAccess: async ({ store }, { caller: { role: callerRole, storeId, expiresAt } }) => {
    const storeName = storeId === null ? null : (store.stores.names(storeId)?.store ?? null);
    // The administrator may not run this operation, so the comparison only narrows the type.
    const role = callerRole === "administrator" ? "owner" : callerRole;
    return accept({ role, storeId, storeName, expiresAt });
  },
} satisfies HandlersOf<"keys">;

function renameKeyId<Key extends KeySummary>({ id: keyId, ...key }: Key) {
  return { ...key, keyId };
}
