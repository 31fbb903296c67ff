// How an API key is made or revoked; its form and hash: core/credential.ts. What the service keeps:
// store/credentials.ts; the commands: cli/store/keys.ts.
import { API_KEY_RANDOM_BYTES, formatTestKey, hashKey, SCOPES, type Scope } from "../../core/credential.ts";
import { accept, refuse, type Outcome } from "../../core/outcome.ts";
import type { ShownKey } from "../../store/credentials.ts";
import type { Store } from "../../store/store.ts";
import type { World } from "../../world.ts";
import { atStore, storeTime } from "../at-store.ts";

/** What making and revoking keys needs. */
type KeyContext = {
  readonly store: Store;
  readonly world: Pick<World, "now" | "uuid" | "randomBytes">;
};

/** Which key is wanted. */
type WantedKey = {
  readonly storeId: string;
  /** Default: one that nobody can guess. */
  readonly apiKey?: string;
  /** Default: every scope. */
  readonly scopes?: readonly Scope[];
  /** Whether it is in force only while a drill runs. */
  readonly forDrill?: boolean;
};

/** A key that was made, with its plaintext, which is kept nowhere here. */
type MadeKey = Pick<ShownKey, "id" | "lastFour" | "scopes"> & { readonly apiKey: string };

/** Gives a store an API key, within a transaction; only its hash is stored (interface 24). */
export function makeKey(
  { store, world }: Pick<KeyContext, "world"> & { readonly store: Store },
  { storeId, apiKey = newApiKey(world), scopes = SCOPES, forDrill = false }: WantedKey,
): MadeKey {
  const made = { id: world.uuid(), lastFour: apiKey.slice(-4), scopes };
  store.credentials.insert({
    ...made,
    storeId,
    keyHash: hashKey(apiKey),
    createdAt: storeTime({ store, world }, storeId),
    forDrill,
  });
  return { ...made, apiKey };
}

/**
 * Revokes a key of a store: v1 refuses it from now on. One that was revoked before stays as it is. Returns it, with the
 * number of those that are left in force. Refuses with `not_found`, for another store's key and that of a drill too.
 */
export function revokeKey(
  context: KeyContext,
  { storeId, id }: { readonly storeId: string; readonly id: string },
): Promise<Outcome<ShownKey & { readonly revokedAt: number; readonly keysLeft: number }>> {
  return atStore(context, storeId, ({ credentials }, now) => {
    const keys = credentials.of(storeId);
    const found = keys.find((key) => key.id === id);
    if (found === undefined) return refuse("not_found", [`there is no API key ${id}`, `没有 API 密钥 ${id}`]);
    const revokedAt = found.revokedAt ?? now;
    if (found.revokedAt === null) credentials.revoke(id, revokedAt);
    const keysLeft = inForce(keys).filter((key) => key.id !== id).length;
    return accept({ ...found, revokedAt, keysLeft });
  });
}

/** Those of these keys that v1 takes. */
export function inForce(keys: readonly ShownKey[]): readonly ShownKey[] {
  return keys.filter(({ revokedAt }) => revokedAt === null);
}

/** An API key that nobody can guess. */
export function newApiKey({ randomBytes }: Pick<World, "randomBytes">): string {
  return formatTestKey(randomBytes(API_KEY_RANDOM_BYTES));
}
