import { PAYMENT_METHODS } from "../../core/checkout/checkout.ts";
import { REAL_CLOCK, storeNow, type StoreClock } from "../../core/clock.ts";
import {
  formatSigningSecret,
  NONCE_BYTES,
  openSecret,
  sealSecret,
  SIGNING_SECRET_BYTES,
} from "../../core/webhook/sealed-secret.ts";
import type { Dialect } from "../../core/shape/dialect.ts";
import { accept, type Outcome, type Refusal } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import type { Store } from "../../store/store.ts";
import type { StoreWithMerchant } from "../../store/stores.ts";
import type { World } from "../../world.ts";
import { createKey, newApiKey } from "./keys.ts";
import type { Price } from "../../core/checkout/shapes.ts";

export const DEFAULT_STORE_NAME = "Sandbox Store";

const SEEDED_CURRENCIES = ["CNY", "EUR", "HKD", "JPY", "USD"] as const;

const SEEDED_PRICES: readonly Price[] = [
  toPrice("price_coffee", "A coffee", { amountMinor: 450, currency: "EUR", paymentMethod: "alipay_plus" }),
  toPrice("price_ticket", "A concert ticket", {
    amountMinor: 19_900,
    currency: "CNY",
    paymentMethod: "wechat_pay",
  }),
  toPrice("price_bento", "A bento box", { amountMinor: 1200, currency: "JPY", paymentMethod: "alipay_plus" }),
];

export type SeedRefusal = "master_key" | "other_api_key" | "other_signing_secret" | "other_dialect";

export type NewStore = StoreWithMerchant & {
  readonly name: string;
  readonly apiKey: string;
  readonly signingSecret: string;
};

/** `apiKey` is null for an existing store, unless the key was given at the start: only its hash is stored. */
type FirstStore = { readonly id: string; readonly apiKey: string | null };

type GivenStore = {
  readonly id?: string;
  readonly name?: string;
  readonly merchant?: { readonly id: string; readonly name?: string | undefined } | undefined;
  readonly apiKey?: string | undefined;
  readonly signingSecret?: string | undefined;
  readonly prices?: readonly Price[] | undefined;
  readonly paymentMethods?: readonly string[] | undefined;
  readonly currencies?: readonly string[] | undefined;
  readonly dialect?: Dialect | undefined;
};

export type StoreCreationContext = {
  readonly world: Pick<World, "now" | "uuid" | "randomBytes" | "freshId">;
  readonly masterKey: Uint8Array;
  readonly presets?: Pick<GivenStore, "apiKey" | "signingSecret">;
  /** Called before the key's hash is committed. `isFirst`: the store is the sandbox's first. */
  readonly keepKey: (newStore: NewStore, isFirst: boolean) => void;
  readonly keepKeySoon: (newStore: Pick<NewStore, "id" | "name" | "apiKey">) => Promise<void>;
  readonly keepName: (store: { readonly id: string; readonly name: string }) => void;
  readonly startClock?: StoreClock | undefined;
  readonly dialect?: Dialect | undefined;
};

export type CreateConfiguredStores = () => Outcome<readonly NewStore[]>;

/**
 * Calls `keepKey` before the key's hash is committed: a crash can leave a key without a store, but no store without its
 * key. Refuses secrets that differ from an existing first store's (decision 78).
 */
export async function seedSandbox(
  store: Store,
  maker: StoreCreationContext,
  seedHook?: CreateConfiguredStores,
): Promise<Outcome<FirstStore, SeedRefusal | Refusal>> {
  const findOrCreate = (): Outcome<FirstStore, SeedRefusal | Refusal> => {
    const refusal = refusalOfFirstStore(store, maker);
    if (refusal !== undefined) return { ok: false, refusal };
    if (store.instance.id() === undefined) store.instance.renew(maker.world.freshId());
    const setup = seedHook?.() ?? accept([]);
    if (!setup.ok) return setup;
    const firstStore = store.stores.first();
    if (firstStore === undefined) return accept(insertStore(store, maker));
    const knownStore = setup.value.find(({ id }) => id === firstStore.id) ?? maker.presets;
    return accept({ id: firstStore.id, apiKey: knownStore?.apiKey ?? null });
  };
  const isStarted = store.instance.id() !== undefined && store.stores.first() !== undefined;
  // Writes nothing to an existing state, because a start that is refused later, for example if its port is in use, must
  // change no file.
  return isStarted && seedHook === undefined ? findOrCreate() : store.write(findOrCreate);
}

export function refusalOfFirstStore(
  store: Store,
  { masterKey, presets = {}, dialect }: Pick<StoreCreationContext, "masterKey" | "presets" | "dialect">,
): SeedRefusal | undefined {
  const firstStore = store.stores.first();
  if (firstStore === undefined) return undefined;
  const { apiKey } = presets;
  const sealedSecret = store.signingSecrets.currentSecret(firstStore.id);
  const signingSecret = sealedSecret && openSecret(sealedSecret, masterKey);
  if (signingSecret === undefined) return "master_key";
  if (apiKey !== undefined && store.credentials.byApiKey(apiKey)?.storeId !== firstStore.id)
    return "other_api_key";
  const hasOtherSecret = presets.signingSecret !== undefined && presets.signingSecret !== signingSecret;
  if (hasOtherSecret) return "other_signing_secret";
  const isSameDialect =
    dialect === undefined || JSON.stringify(dialect) === JSON.stringify(store.stores.dialect(firstStore.id));
  return isSameDialect ? undefined : "other_dialect";
}

type RequestedStore = Pick<GivenStore, "dialect"> & {
  readonly name?: string | undefined;
  readonly merchant?: { readonly id: string; readonly isNew: boolean } | undefined;
};

/**
 * Stores the key before the transaction, so that simultaneous creates share one write of the key file. Default
 * merchant: the first store's.
 */
export async function createStore(
  { store, ...maker }: StoreCreationContext & { readonly store: Store },
  { name = DEFAULT_STORE_NAME, merchant, dialect }: RequestedStore,
): Promise<Outcome<NewStore>> {
  const hasMerchant = (): boolean => merchant?.isNew !== false || store.stores.hasMerchant(merchant.id);
  const refuseMerchant = (): Outcome<never> => refuseFact("no_merchant", { merchant: String(merchant?.id) });
  if (!hasMerchant()) return refuseMerchant();
  const givenStore = { id: maker.world.uuid(), name, apiKey: newApiKey(maker.world) };
  await maker.keepKeySoon(givenStore);
  const quietMaker = { ...maker, keepKey: () => undefined };
  return store.write(() =>
    hasMerchant()
      ? accept(insertStore(store, quietMaker, { ...givenStore, merchant, dialect }))
      : refuseMerchant(),
  );
}

export function insertStore(
  store: Store,
  { world, masterKey, keepKey, presets = {}, startClock = REAL_CLOCK, ...maker }: StoreCreationContext,
  givenStore: GivenStore = {},
): NewStore {
  const createdAt = storeNow(startClock, world.now());
  const firstStore = store.stores.first();
  const {
    name = DEFAULT_STORE_NAME,
    paymentMethods = PAYMENT_METHODS,
    currencies = SEEDED_CURRENCIES,
  } = givenStore;
  const id = givenStore.id ?? world.uuid();
  const merchantId = givenStore.merchant?.id ?? firstStore?.merchantId ?? world.uuid();
  const secretId = world.uuid(`${id} secrets`);
  const secrets = firstStore === undefined ? presets : {};
  const apiKey = secrets.apiKey ?? givenStore.apiKey ?? newApiKey(world);
  const signingSecret = secrets.signingSecret ?? givenStore.signingSecret ?? newSigningSecret(world);
  const binding = { id: secretId, storeId: id, nonce: world.randomBytes(NONCE_BYTES) };

  store.stores.insertMerchant({
    id: merchantId,
    name: givenStore.merchant?.name ?? "Sandbox Merchant",
    createdAt,
  });
  store.stores.insert({ id, merchantId, name, createdAt }, givenStore.dialect ?? maker.dialect);
  if (startClock !== REAL_CLOCK) store.clocks.set(id, startClock);
  for (const method of paymentMethods)
    store.capabilities.insert(id, { kind: "payment_method", name: method });
  for (const currency of currencies) store.capabilities.insert(id, { kind: "currency", name: currency });
  createKey({ store, world }, { storeId: id, apiKey });
  store.signingSecrets.insert(sealSecret(signingSecret, binding, masterKey), {
    createdAt,
    endpointId: null,
    retiredAt: null,
  });
  for (const item of givenStore.prices ?? SEEDED_PRICES) store.prices.put(id, item);
  const newStore = { id, merchantId, name, apiKey, signingSecret };
  keepKey(newStore, firstStore === undefined);
  return newStore;
}

export function newSigningSecret({ randomBytes }: Pick<World, "randomBytes">): string {
  return formatSigningSecret(randomBytes(SIGNING_SECRET_BYTES));
}

function toPrice(
  id: string,
  description: string,
  terms: Pick<Price, "amountMinor" | "currency" | "paymentMethod">,
): Price {
  return { id, description, ...terms, billingModel: "one_time", approved: true, retired: false };
}
