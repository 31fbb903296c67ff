import { API_KEY_RANDOM_BYTES, formatTestKey, hashKey, SCOPES, type Scope } from "../../core/credential.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import type { KeySummary } from "../../store/credentials.ts";
import type { Store } from "../../store/store.ts";
import type { World } from "../../world.ts";
import { withStore, storeTime } from "../with-store.ts";

type KeyContext = {
  readonly store: Store;
  readonly world: Pick<World, "now" | "uuid" | "randomBytes">;
};

type KeyInput = {
  readonly storeId: string;
  readonly apiKey?: string;
  readonly scopes?: readonly Scope[];
  readonly isForDrill?: boolean;
};

type NewKey = Pick<KeySummary, "id" | "lastFour" | "scopes"> & { readonly apiKey: string };

/** Call inside a transaction. Only the key's hash and last four characters are stored. */
export function createKey(
  { store, world }: Pick<KeyContext, "world"> & { readonly store: Store },
  { storeId, apiKey = newApiKey(world), scopes = SCOPES, isForDrill = false }: KeyInput,
): NewKey {
  // The id comes from a separate sequence, so that, with a seed, stores that are created simultaneously get the same
  // ids in any order.
  const newKey = { id: world.uuid(`${storeId} credentials`), lastFour: apiKey.slice(-4), scopes };
  store.credentials.insert({
    ...newKey,
    storeId,
    isForDrill,
    keyHash: hashKey(apiKey),
    createdAt: storeTime({ store, world }, storeId),
  });
  return { ...newKey, apiKey };
}

/** Refuses an unknown key, and a key of another store or of a drill. */
export function revokeKey(
  context: KeyContext,
  { storeId, id }: { readonly storeId: string; readonly id: string },
): Promise<Outcome<KeySummary & { readonly revokedAt: number; readonly keysLeft: number }>> {
  return withStore(context, storeId, ({ credentials }, now) => {
    const keys = credentials.of(storeId);
    const entry = keys.find((key) => key.id === id);
    if (entry === undefined) return refuseFact("no_key", { id });
    const revokedAt = entry.revokedAt ?? now;
    if (entry.revokedAt === null) credentials.revoke(id, revokedAt);
    const keysLeft = selectActiveKeys(keys).filter((key) => key.id !== id).length;
    return accept({ ...entry, revokedAt, keysLeft });
  });
}

export function selectActiveKeys(keys: readonly KeySummary[]): readonly KeySummary[] {
  return keys.filter(({ revokedAt }) => revokedAt === null);
}

export function newApiKey({ randomBytes }: Pick<World, "randomBytes">): string {
  return formatTestKey(randomBytes(API_KEY_RANDOM_BYTES, "api key"));
}
