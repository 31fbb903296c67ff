import { PAYMENT_METHODS } from "../../core/checkout/checkout.ts";
import { API_KEY_RANDOM_BYTES, formatTestKey, hashKey, SCOPES } from "../../core/credential.ts";
import {
  formatSigningSecret,
  NONCE_BYTES,
  openSecret,
  sealSecret,
  SIGNING_SECRET_BYTES,
} from "../../core/sealed-secret.ts";
import type { Price } from "../../store/checkout/prices.ts";
import type { Store } from "../../store/store.ts";
import type { StoreIdentity } from "../../store/stores.ts";
import type { World } from "../../world.ts";

/** The currencies of a new store. */
const SEEDED_CURRENCIES = ["CNY", "EUR", "HKD", "JPY", "USD"] as const;

/** The catalog of a new store. */
const SEEDED_PRICES: readonly Price[] = [
  price("price_coffee", "A coffee", { amountMinor: 450, currency: "EUR", paymentMethod: "alipay_plus" }),
  price("price_ticket", "A concert ticket", {
    amountMinor: 19_900,
    currency: "CNY",
    paymentMethod: "wechat_pay",
  }),
  price("price_bento", "A bento box", { amountMinor: 1200, currency: "JPY", paymentMethod: "alipay_plus" }),
];

/**
 * The store that the sandbox shows, with its secrets. `apiKey` is null unless the store is new: only its hash is
 * stored.
 */
export type SeededStore = StoreIdentity & { readonly apiKey: string | null; readonly signingSecret: string };

/** A new store, with its key. */
export type NewStore = SeededStore & { readonly apiKey: string };

/**
 * Creates the first merchant and store in an empty file, in one transaction; reads them from any other file. `keep`
 * gets the new key before its hash is committed: a crash in between leaves a key without a store, never a store without
 * its key. Undefined if the master key does not decrypt the store's signing secret.
 */
export async function seed(
  store: Store,
  world: World,
  options: { readonly masterKey: Uint8Array; readonly keep: (seeded: NewStore) => void },
): Promise<SeededStore | undefined> {
  return store.write(() => {
    const first = store.stores.first();
    if (first === undefined) {
      const made = makeStore(store, world, options.masterKey);
      options.keep(made);
      return made;
    }
    const sealed = store.signingSecrets.current(first.id);
    const signingSecret = sealed && openSecret(sealed, options.masterKey);
    return signingSecret === undefined ? undefined : { ...first, apiKey: null, signingSecret };
  });
}

function makeStore(store: Store, world: World, masterKey: Uint8Array): NewStore {
  const createdAt = world.now();
  const [id, merchantId, secretId] = [world.uuid(), world.uuid(), world.uuid()];
  const apiKey = formatTestKey(world.randomBytes(API_KEY_RANDOM_BYTES));
  const signingSecret = formatSigningSecret(world.randomBytes(SIGNING_SECRET_BYTES));
  const place = { id: secretId, storeId: id, nonce: world.randomBytes(NONCE_BYTES) };

  store.stores.insertMerchant({ id: merchantId, name: "Sandbox Merchant", createdAt });
  store.stores.insert({ id, merchantId, name: "Sandbox Store", createdAt });
  for (const name of PAYMENT_METHODS) store.capabilities.insert(id, { kind: "payment_method", name });
  for (const name of SEEDED_CURRENCIES) store.capabilities.insert(id, { kind: "currency", name });
  store.credentials.insert({
    id: world.uuid(),
    storeId: id,
    scopes: SCOPES,
    keyHash: hashKey(apiKey),
    lastFour: apiKey.slice(-4),
    createdAt,
  });
  store.signingSecrets.insert(sealSecret(signingSecret, place, masterKey), {
    createdAt,
    endpointId: null,
    retiredAt: null,
  });
  for (const item of SEEDED_PRICES) store.prices.insert(id, item);
  return { id, merchantId, apiKey, signingSecret };
}

function price(id: string, description: string, terms: Omit<Price, "id" | "description">): Price {
  return { id, description, ...terms };
}
