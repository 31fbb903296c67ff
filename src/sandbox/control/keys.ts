import { DEFAULT_VALIDITY_MS } from "../../core/control/operations/keys.ts";
import { SCOPES } from "../../core/credential.ts";
import { accept, mapValue } from "../../core/outcome.ts";
import type { KeySummary } from "../../store/credentials.ts";
import { limitOf } from "../access/caller.ts";
import { atStore } from "../at-store.ts";
import { createKey, revokeKey } from "../runtime/keys.ts";
import type { HandlersOf } from "./handler.ts";

export const keyHandlers = {
  createKey: (context, { storeId, body: { scopes: wanted = SCOPES } }) =>
    atStore(context, storeId, () => {
      const scopes = SCOPES.filter((scope) => wanted.includes(scope));
      const { id: keyId, ...made } = createKey(context, { storeId, scopes });
      return accept({ ...made, keyId });
    }),
  listKeys: async ({ store }, { storeId }) =>
    accept({ storeId, keys: store.credentials.of(storeId).map(renameKeyId) }),
  revokeKey: async (context, { storeId, id }) =>
    mapValue(await revokeKey(context, { storeId, id }), (revoked) => ({ ...renameKeyId(revoked), storeId })),
  createToken: async ({ tokens }, { storeId, body: { role = "store", validMs = DEFAULT_VALIDITY_MS } }) =>
    mapValue(await tokens.issueToken({ storeId, role }, validMs), ({ secret: token, ...issued }) => ({
      ...issued,
      token,
      role,
      storeId,
    })),
  listTokens: async ({ store }, { storeId }) => accept({ storeId, tokens: store.tokens.of(storeId) }),
  revokeToken: ({ tokens }, { storeId, id }) => tokens.revoke(storeId, id),
  showAccess: async ({ store }, { caller }) => {
    const { storeId = null, expiresAt = null } = limitOf(caller) ?? {};
    const storeName = storeId === null ? null : (store.stores.names(storeId)?.store ?? null);
    // No operation of a viewer is also one of the administrator.
    const role = caller.role === "administrator" ? "owner" : caller.role;
    return accept({ role, storeId, storeName, expiresAt });
  },
} satisfies HandlersOf<"keys">;

function renameKeyId<Key extends KeySummary>({ id: keyId, ...key }: Key) {
  return { ...key, keyId };
}
