import * as z from "zod/mini";
import { moment, wholeNumber } from "../../shape/fields.ts";
import { keyEntry, keyScopes, STORE_ROLES, tokenEntry } from "../../store/shapes.ts";
import { sandboxOperation, storeOperation } from "../operation.ts";
import { TOKEN_VALIDITY_MS } from "../rights.ts";

export const storeRights = {
  /** `viewer` is read-only and sees no secrets. Default: `store`. */
  role: z.optional(z.enum(STORE_ROLES)),
  /** Default: 7 days. */
  validMs: z.optional(wholeNumber(TOKEN_VALIDITY_MS.least, TOKEN_VALIDITY_MS.most)),
};

export const keyOperations = {
  createKey: storeOperation("store", {
    route: ["POST", "/keys"],
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
  listKeys: storeOperation("store", {
    route: ["GET", "/keys"],
    summary: "Lists the API keys of the store",
    description:
      "Returns the API keys of the store, including revoked keys, oldest first: each with its scopes, its last four characters, and when it was created and revoked. Keys that a drill created are not listed.",
    answer: () => z.object({ storeId: z.uuid(), keys: z.array(keyEntry) }),
  }),
  revokeKey: storeOperation("store", {
    route: ["POST", "/keys/{id}/revoke"],
    summary: "Revokes an API key",
    description:
      "Revokes a key, so that v1 refuses it from now on, and returns the key with the number of remaining active keys. A key that is already revoked stays unchanged. Refuses an id that is not a key of the store.",
    request: () => z.strictObject({}),
    answer: () =>
      z.extend(keyEntry, {
        storeId: z.uuid(),
        revokedAt: moment,
        keysLeft: wholeNumber(0),
      }),
  }),
  createToken: storeOperation("owner", {
    route: ["POST", "/tokens"],
    summary: "Creates a token for the store",
    description:
      "Creates a token with which programs, also on other machines, act on this store only, and returns the token. The token is shown only once, because only its hash is stored. It expires, by default after 7 days.",
    request: () => z.strictObject(storeRights),
    answer: () =>
      z.object({
        tokenId: z.uuid(),
        token: z.string(),
        role: z.enum(STORE_ROLES),
        storeId: z.uuid(),
        expiresAt: moment,
      }),
  }),
  listTokens: storeOperation("owner", {
    route: ["GET", "/tokens"],
    summary: "Lists the tokens, links and sessions of the store",
    description:
      "Returns the tokens and links of the store, and the portal sessions that links began, oldest first, including expired and revoked ones: each with its role, its last use, and when it expires and was revoked.",
    answer: () => z.object({ storeId: z.uuid(), tokens: z.array(tokenEntry) }),
  }),
  revokeToken: storeOperation("owner", {
    route: ["POST", "/tokens/{id}/revoke"],
    summary: "Revokes a token, a link or a session",
    description:
      "Revokes a token, a link with the session that it began, or a session, and returns it. Requests that wait, and open pages, end within 2 seconds. What is already revoked stays unchanged. Refuses an id that is not of the store.",
    request: () => z.strictObject({}),
    answer: () => tokenEntry,
  }),
  showAccess: sandboxOperation("viewer", {
    route: ["GET", "/access"],
    summary: "Shows the rights of the token",
    description:
      "Returns the role of the calling token, and, if the token is limited to a store, the store and when the token expires.",
    answer: () =>
      z.object({
        role: z.enum(["owner", ...STORE_ROLES]),
        /** Null for an owner, like the fields below. */
        storeId: z.nullable(z.uuid()),
        storeName: z.nullable(z.string()),
        expiresAt: z.nullable(moment),
      }),
  }),
};
