import * as z from "zod/mini";
import { moment, wholeNumber } from "../../shape/fields.ts";
import { keyEntry, keyScopes } from "../../store/shapes.ts";
import { storeOperation } from "../operation.ts";

/** The operations on the API keys of a store (decisions 15, 89). */
export const keyOperations = {
  createKey: storeOperation({
    method: "POST",
    path: "/keys",
    summary: "Creates an API key",
    description:
      "Creates an API key of the store with the given scopes, by default with all of them, and returns the key. The key is shown only once, because only its hash is stored.",
    request: () =>
      z.strictObject({
        scopes: z.optional(keyScopes),
      }),
    answer: () =>
      z.object({
        keyId: z.uuid(),
        apiKey: z.string(),
        lastFour: z.string(),
        scopes: keyEntry.shape.scopes,
      }),
  }),
  listKeys: storeOperation({
    path: "/keys",
    summary: "Lists the API keys of the store",
    description:
      "Returns the API keys of the store, including revoked keys, oldest first: each with its scopes, its last four characters, and when it was created and revoked. Keys that a drill created are not listed.",
    answer: () => z.object({ storeId: z.uuid(), keys: z.array(keyEntry) }),
  }),
  revokeKey: storeOperation({
    method: "POST",
    path: "/keys/{id}/revoke",
    summary: "Revokes an API key",
    description:
      "Revokes a key, so that v1 refuses it from now on, and returns the key with the number of remaining active keys. A key that is already revoked stays unchanged. Refuses an id that is not a key of the store.",
    request: () => z.strictObject({}),
    answer: () =>
      z.extend(keyEntry, {
        storeId: z.uuid(),
        revokedAt: moment,
        /** The number of active keys that remain in the store. */
        keysLeft: wholeNumber(0),
      }),
  }),
};
