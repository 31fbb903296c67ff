import { PAYMENT_METHODS } from "../../core/checkout/checkout.ts";
import { API_KEY_RANDOM_BYTES, formatTestKey, hashKey, SCOPES } from "../../core/credential.ts";
import {
  formatSigningSecret,
  NONCE_BYTES,
  openSecret,
  sealSecret,
  SIGNING_SECRET_BYTES,
} from "../../core/sealed-secret.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
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
 * The store that the sandbox shows, with its secrets. `apiKey` is null unless the store is new or the key was given:
 * only its hash is stored.
 */
export type SeededStore = StoreIdentity & { readonly apiKey: string | null; readonly signingSecret: string };

/** Secrets of a store that come from outside; each undefined where it is to be made. */
export type GivenSecrets = {
  readonly apiKey: string | undefined;
  readonly signingSecret: string | undefined;
};

/** Why the first store is not shown: a secret cannot be read, or is another one than was given. */
export type SeedRefusal = "master_key" | "other_api_key" | "other_signing_secret";

/** A new store, with its key. */
export type NewStore = SeededStore & { readonly apiKey: string };

/**
 * Creates the first merchant and store in an empty file, in one transaction; reads them from any other file. `keep`
 * gets the new key before its hash is committed: a crash in between leaves a key without a store, never a store without
 * its key. What is given becomes the secrets of a new store, and has to be those of one that is there (decision 78).
 */
export async function seed(
  store: Store,
  world: World,
  options: {
    readonly masterKey: Uint8Array;
    readonly given: GivenSecrets;
    readonly keep: (seeded: NewStore) => void;
  },
): Promise<Outcome<SeededStore, SeedRefusal>> {
  return store.write(() => {
    const first = store.stores.first();
    if (first !== undefined) return showStore(store, first, options);
    const made = makeStore(store, world, options);
    options.keep(made);
    return accept(made);
  });
}

function showStore(
  store: Store,
  { id, merchantId }: StoreIdentity,
  { masterKey, given }: { readonly masterKey: Uint8Array; readonly given: GivenSecrets },
): Outcome<SeededStore, SeedRefusal> {
  const { apiKey = null } = given;
  const sealed = store.signingSecrets.current(id);
  const signingSecret = sealed && openSecret(sealed, masterKey);
  if (signingSecret === undefined) return { ok: false, refusal: "master_key" };
  if (apiKey !== null && store.credentials.byApiKey(apiKey)?.storeId !== id)
    return { ok: false, refusal: "other_api_key" };
  if (given.signingSecret !== undefined && given.signingSecret !== signingSecret)
    return { ok: false, refusal: "other_signing_secret" };
  return accept({ id, merchantId, apiKey, signingSecret });
}

function makeStore(
  store: Store,
  world: World,
  { masterKey, given }: { readonly masterKey: Uint8Array; readonly given: GivenSecrets },
): NewStore {
  const createdAt = world.now();
  const [id, merchantId, secretId] = [world.uuid(), world.uuid(), world.uuid()];
  const apiKey = given.apiKey ?? newApiKey(world);
  const signingSecret = given.signingSecret ?? newSigningSecret(world);
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

/** An API key that nobody can guess. */
export function newApiKey({ randomBytes }: Pick<World, "randomBytes">): string {
  return formatTestKey(randomBytes(API_KEY_RANDOM_BYTES));
}

/** A signing secret that nobody can guess. */
export function newSigningSecret({ randomBytes }: Pick<World, "randomBytes">): string {
  return formatSigningSecret(randomBytes(SIGNING_SECRET_BYTES));
}

function price(id: string, description: string, terms: Omit<Price, "id" | "description">): Price {
  return { id, description, ...terms };
}
