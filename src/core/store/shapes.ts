import * as z from "zod/mini";
import { SCOPES } from "../credential.ts";
import { moment, type DomainOf } from "../shape/fields.ts";
import { nameSchemas } from "../shape/wire-names.ts";

export const storeEntry = z.object({
  storeId: z.uuid(),
  name: z.string(),
  merchantId: z.uuid(),
  merchantName: z.string(),
  active: z.boolean(),
  createdAt: moment,
});
export type StoreEntry = DomainOf<typeof storeEntry>;

export const erasedStore = z.object({ storeId: z.uuid(), name: z.string() });
export type ErasedStore = DomainOf<typeof erasedStore>;

const scope = z.enum(SCOPES);
export const keyScopes = z.array(scope).check(z.minLength(1), z.maxLength(SCOPES.length));
export const keyEntry = z.object({
  keyId: z.uuid(),
  lastFour: z.string(),
  scopes: z.array(scope),
  createdAt: moment,
  revokedAt: z.nullable(moment),
});

export type KeyEntry = DomainOf<typeof keyEntry>;

/** These roles are limited to one store. `viewer`: read-only, without secrets. */
export const STORE_ROLES = ["store", "viewer"] as const;
export type StoreRole = (typeof STORE_ROLES)[number];

/** A token for programs; a link that signs one browser in, once; or the session that the link began. */
export const tokenEntry = z.object({
  tokenId: z.uuid(),
  storeId: z.uuid(),
  kind: z.enum(["token", "link", "session"]),
  role: z.enum(STORE_ROLES),
  /** By the real clock, like the other times. */
  createdAt: moment,
  expiresAt: moment,
  /** The last use, to the minute; null before the first use. */
  usedAt: z.nullable(moment),
  revokedAt: z.nullable(moment),
});
export type TokenEntry = DomainOf<typeof tokenEntry>;

nameSchemas({
  ListedStore: storeEntry,
  ErasedStore: erasedStore,
  ApiKey: keyEntry,
  Token: tokenEntry,
});
