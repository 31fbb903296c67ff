import { type Capability, MAX_PRICES } from "../checkout/checkout.ts";
import { PRICE_TERM_NAMES } from "../checkout/price.ts";
import { hashKey } from "../credential.ts";
import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import { checkCa, parseTarget, type TargetPolicy } from "../webhook/target.ts";
import { canonicalUrl, conflictsIn, findRepeatedNames, type NamedField } from "./conflicts.ts";
import { atPath, type FieldPath, type PathRefusal } from "./field.ts";
import { describeCertificates } from "../webhook/certificates.ts";
import type { PriceInput, RequestedStore } from "./store-fields.ts";
import type { ChangeEntry, ServedConfig } from "./shapes.ts";
import type { Price } from "../checkout/shapes.ts";

type ConfiguredStore = ServedConfig["stores"][number];
export type StoreState = Omit<ConfiguredStore, "capabilities" | "endpoints"> & {
  readonly capabilities: readonly Capability[];
  readonly endpoints: readonly (ConfiguredStore["endpoints"][number] & { readonly id: string })[];
  /** Undefined if the secret cannot be decrypted. */
  readonly signingSecret: string | undefined;
};

export type ConfigState = {
  readonly stores: readonly StoreState[];
  readonly keys: ReadonlyMap<string, { readonly storeId: string; readonly isRevoked: boolean }>;
};

type FieldValue = ChangeEntry["differences"][number]["from"];

export type PlannedChange = Omit<ChangeEntry, "kind"> &
  (
    | { readonly kind: "store"; readonly requestedItem?: RequestedStore }
    | { readonly kind: "price"; readonly requestedItem?: PriceInput }
    | { readonly kind: "api_key"; readonly apiKey: string }
    | {
        readonly kind: "endpoint";
        readonly endpointId?: string;
        readonly events: readonly string[];
        readonly inOrder: boolean;
        readonly ca: string | null;
      }
    | { readonly kind: "return_origin"; readonly path: string }
    | { readonly kind: "merchant" | "payment_method" | "currency" }
  );

type PlanOptions = { readonly prune: boolean; readonly targets: TargetPolicy };

const LISTS = [
  { kind: "return_origin", field: "return_origins", maximum: 20 },
  { kind: "endpoint", field: "endpoints", maximum: 20 },
  { kind: "price", field: "prices", maximum: MAX_PRICES },
] as const;
const DEFAULT_EVENTS = ["*"];

/**
 * A list that the file omits stays unchanged (decision 84). A missing price, return origin or endpoint is `unmanaged`,
 * or removed with `prune`; a missing capability is deactivated.
 */
export function planChanges(
  requestedStores: readonly RequestedStore[],
  state: ConfigState,
  options: PlanOptions,
): Outcome<readonly PlannedChange[]> {
  const [conflict] = [...conflictsIn(requestedStores), ...keyConflicts(requestedStores)];
  if (conflict !== undefined) return conflict;
  const knownStores = new Map(state.stores.map((store) => [store.id, store]));
  const changes: PlannedChange[] = [];
  for (const [index, store] of requestedStores.entries()) {
    const context = { ...options, state, currentStore: knownStores.get(store.id), path: ["stores", index] };
    const check = checkStore(store, context);
    if (!check.ok) return check;
    const storeChanges = changesOf(store, context);
    const lengthCheck = checkLengths(storeChanges, context.path);
    if (!lengthCheck.ok) return lengthCheck;
    changes.push(...storeChanges);
  }
  const fileIds = new Set(requestedStores.map(({ id }) => id));
  const unmanagedStores =
    requestedStores.length === 0 ? [] : state.stores.filter(({ id }) => !fileIds.has(id));
  const unmanagedEntries = unmanagedStores.map(({ id, name }) =>
    changeEntry("unmanaged", "store", { storeId: id, name }),
  );
  return accept([...changes, ...unmanagedEntries]);
}

export function priceWithDefaults(price: PriceInput): Price {
  const { description = "", billingModel = "one_time", approved = true, retired = false, ...terms } = price;
  return { ...terms, description, billingModel, approved, retired };
}

type PlanContext = PlanOptions & {
  readonly state: ConfigState;
  readonly currentStore: StoreState | undefined;
  readonly path: FieldPath;
};

function changesOf(requestedStore: RequestedStore, context: PlanContext): PlannedChange[] {
  return [
    storeChange(requestedStore, context),
    ...merchantChanges(requestedStore, context),
    ...keyChanges(requestedStore, context),
    ...capabilityChanges(requestedStore, context, "payment_method"),
    ...capabilityChanges(requestedStore, context, "currency"),
    ...priceChanges(requestedStore, context),
    ...originChanges(requestedStore, context),
    ...endpointChanges(requestedStore, context),
  ];
}

function storeChange(requestedStore: RequestedStore, { currentStore }: PlanContext): PlannedChange {
  const { id: storeId, name } = requestedStore;
  if (currentStore === undefined)
    return { ...changeEntry("add", "store", { storeId, name }), requestedItem: requestedStore };
  return {
    ...compareItem("store", { storeId, name }, [["name", currentStore.name, name]]),
    requestedItem: requestedStore,
  };
}

/** Renames an existing merchant. A new merchant gets its name with its first store. */
function merchantChanges({ id: storeId, merchant }: RequestedStore, { state }: PlanContext): PlannedChange[] {
  const currentMerchant = state.stores.find((store) => store.merchant.id === merchant?.id)?.merchant;
  if (merchant?.name === undefined || currentMerchant === undefined) return [];
  const subject = { storeId, name: merchant.id };
  return [compareItem("merchant", subject, [["name", currentMerchant.name, merchant.name]])];
}

function keyChanges({ id: storeId, apiKeys = [] }: RequestedStore, { state }: PlanContext): PlannedChange[] {
  return apiKeys.map((apiKey) => {
    const action = state.keys.has(hashKey(apiKey)) ? "keep" : "add";
    return { ...changeEntry(action, "api_key", { storeId, name: `…${apiKey.slice(-4)}` }), apiKey };
  });
}

/** Deactivates missing capabilities instead of removing them, so that they can be activated again. */
function capabilityChanges(
  { id: storeId, capabilities = {} }: RequestedStore,
  { currentStore }: PlanContext,
  kind: "payment_method" | "currency",
): PlannedChange[] {
  const names: readonly string[] | undefined =
    kind === "currency" ? capabilities.currencies : capabilities.paymentMethods;
  if (names === undefined) return [];
  const knownCapabilities = (currentStore?.capabilities ?? []).filter(
    (capability) => capability.kind === kind,
  );
  const addedNames = names.filter(
    (name) => !knownCapabilities.some((capability) => capability.name === name),
  );
  return [
    ...knownCapabilities
      .filter(({ name, active }) => active || names.includes(name))
      .map(({ name, active }) =>
        compareItem(kind, { storeId, name }, [["active", active, names.includes(name)]]),
      ),
    ...addedNames.map((name) => changeEntry("add", kind, { storeId, name })),
  ];
}

function priceChanges(
  { id: storeId, prices }: RequestedStore,
  { currentStore, prune }: PlanContext,
): PlannedChange[] {
  if (prices === undefined) return [];
  const knownPrices = currentStore?.prices ?? [];
  const otherPrices = knownPrices.filter(({ id }) => !prices.some((price) => price.id === id));
  return [
    ...prices.map((requestedPrice): PlannedChange => {
      const subject = { storeId, name: requestedPrice.id };
      const knownPrice = knownPrices.find(({ id }) => id === requestedPrice.id);
      if (knownPrice === undefined)
        return { ...changeEntry("add", "price", subject), requestedItem: requestedPrice };
      const completePrice = priceWithDefaults(requestedPrice);
      const change = compareItem("price", subject, [
        ...PRICE_TERM_NAMES.map(([field, name]) => [name, knownPrice[field], completePrice[field]] as const),
        ["billing_model", knownPrice.billingModel, completePrice.billingModel],
        ["approved", knownPrice.approved, completePrice.approved],
        ["retired", knownPrice.retired, completePrice.retired],
      ]);
      return { ...change, requestedItem: requestedPrice };
    }),
    ...otherPrices.map(({ id }) => unlistedItem("price", { storeId, name: id }, prune)),
  ];
}

function originChanges(
  { id: storeId, returnOrigins }: RequestedStore,
  { currentStore, prune }: PlanContext,
): PlannedChange[] {
  if (returnOrigins === undefined) return [];
  const knownOrigins = currentStore?.returnOrigins ?? [];
  const otherOrigins = knownOrigins.filter(
    ({ origin }) => !returnOrigins.some((entry) => entry.origin === origin),
  );
  return [
    ...returnOrigins.map(({ origin: name, path }): PlannedChange => {
      const subject = { storeId, name };
      const knownOrigin = knownOrigins.find(({ origin }) => origin === name);
      if (knownOrigin === undefined) return { ...changeEntry("add", "return_origin", subject), path };
      return { ...compareItem("return_origin", subject, [["path", knownOrigin.path, path]]), path };
    }),
    ...otherOrigins.map(({ origin: name, path }) =>
      Object.assign(unlistedItem("return_origin", { storeId, name }, prune), { path }),
    ),
  ];
}

function endpointChanges(
  { id: storeId, endpoints }: RequestedStore,
  { currentStore, prune }: PlanContext,
): PlannedChange[] {
  if (endpoints === undefined) return [];
  const knownEndpoints = currentStore?.endpoints ?? [];
  const otherEndpoints = knownEndpoints.filter(
    ({ url }) => !endpoints.some((endpoint) => canonicalUrl(endpoint.url) === url),
  );
  return [
    ...endpoints.map((endpoint): PlannedChange => {
      const subject = { storeId, name: canonicalUrl(endpoint.url) };
      const events = [...new Set(endpoint.events ?? DEFAULT_EVENTS)];
      const knownEndpoint = knownEndpoints.find(({ url }) => url === subject.name);
      const { inOrder = false, ca = null } = endpoint;
      if (knownEndpoint === undefined)
        return { ...changeEntry("add", "endpoint", subject), events, inOrder, ca };
      const change = compareItem("endpoint", subject, [
        ["events", patternsText(knownEndpoint.events), patternsText(events)],
        ["in_order", knownEndpoint.inOrder, inOrder],
        ["ca", certificatesText(knownEndpoint.ca ?? null), certificatesText(ca)],
      ]);
      return { ...change, endpointId: knownEndpoint.id, events, inOrder, ca };
    }),
    ...otherEndpoints.map(({ id: endpointId, url, events, inOrder, ca = null }) =>
      Object.assign(unlistedItem("endpoint", { storeId, name: url }, prune), {
        endpointId,
        events,
        inOrder,
        ca,
      }),
    ),
  ];
}

function checkStore(requestedStore: RequestedStore, context: PlanContext): Outcome<void> {
  const { currentStore, state, path, targets } = context;
  const { merchant, signingSecret, apiKeys = [], endpoints = [] } = requestedStore;
  if (currentStore !== undefined && merchant !== undefined && merchant.id !== currentStore.merchant.id)
    return atPath(
      [...path, "merchant", "id"],
      refuseFact("merchant_fixed", { merchant: currentStore.merchant.id }),
    );
  const currentSecret = currentStore?.signingSecret;
  if (currentStore !== undefined && signingSecret !== undefined && currentSecret !== signingSecret) {
    const fact = currentSecret === undefined ? "secret_unreadable" : "secret_fixed";
    return atPath([...path, "signing_secret"], refuseFact(fact, {}));
  }
  for (const [index, apiKey] of apiKeys.entries()) {
    const knownKey = state.keys.get(hashKey(apiKey));
    if (knownKey === undefined || (knownKey.storeId === requestedStore.id && !knownKey.isRevoked)) continue;
    const refusal = knownKey.isRevoked
      ? refuseFact("key_revoked", {})
      : refuseFact("key_of_other_store", { store: knownKey.storeId });
    return atPath([...path, "api_keys", index], refusal);
  }
  for (const [index, { url, ca }] of endpoints.entries()) {
    const target = parseTarget(url, targets);
    if (!target.ok) return atPath([...path, "endpoints", index, "url"], target);
    const trust = checkCa(url, ca, targets);
    if (!trust.ok) return atPath([...path, "endpoints", index, "ca"], trust);
  }
  return accept(undefined);
}

/** Accepts a list that was already too long if its length does not change. */
function checkLengths(changes: readonly PlannedChange[], path: FieldPath): Outcome<void> {
  for (const { kind, field, maximum } of LISTS) {
    const actions = changes.filter((change) => change.kind === kind).map(({ action }) => action);
    const count = actions.filter((action) => action !== "remove").length;
    const knownCount = actions.filter((action) => action !== "add").length;
    if (count > maximum && count !== knownCount)
      return atPath([...path, field], refuseFact("list_too_long", { most: maximum, count }));
  }
  return accept(undefined);
}

function keyConflicts(requestedStores: readonly RequestedStore[]): readonly PathRefusal[] {
  const allKeys = requestedStores.flatMap(({ apiKeys = [] }, storeIndex) =>
    apiKeys.map((apiKey, index): NamedField => [["stores", storeIndex, "api_keys", index], apiKey]),
  );
  return findRepeatedNames(allKeys, "repeated_key");
}

type ChangeSubject = Pick<ChangeEntry, "storeId" | "name">;

type ChangeOfKind<Kind> = Omit<ChangeEntry, "kind"> & { readonly kind: Kind };

function changeEntry<Kind extends ChangeEntry["kind"]>(
  action: ChangeEntry["action"],
  kind: Kind,
  subject: ChangeSubject,
): ChangeOfKind<Kind> {
  return { action, kind, ...subject, differences: [] };
}

function unlistedItem<Kind extends ChangeEntry["kind"]>(
  kind: Kind,
  subject: ChangeSubject,
  prune: boolean,
): ChangeOfKind<Kind> {
  return changeEntry(prune ? "remove" : "unmanaged", kind, subject);
}

function compareItem<Kind extends ChangeEntry["kind"]>(
  kind: Kind,
  subject: ChangeSubject,
  fields: readonly (readonly [field: string, from: FieldValue, to: FieldValue])[],
): ChangeOfKind<Kind> {
  const differences = fields
    .filter(([, from, to]) => from !== to)
    .map(([field, from, to]) => ({ field, from, to }));
  return { ...changeEntry(differences.length === 0 ? "keep" : "change", kind, subject), differences };
}

function certificatesText(ca: string | null): string | null {
  return ca === null ? null : describeCertificates(ca);
}

function patternsText(events: readonly string[]): string {
  return events.toSorted().join(", ");
}
