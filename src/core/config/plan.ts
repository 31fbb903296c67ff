import { type Capability, MAX_PRICES } from "../checkout/checkout.ts";
import { PRICE_TERMS } from "../checkout/price.ts";
import type { ReturnOrigin } from "../checkout/return-origin.ts";
import { hashKey } from "../credential.ts";
import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import { checkTrust, parseTarget, type TargetPolicy } from "../webhook/target.ts";
import { canonicalUrl, conflictsIn, findRepeatedNames, type NamedField } from "./conflicts.ts";
import { atPath, type FieldPath, type PathRefused } from "./field.ts";
import { describeCertificates } from "../webhook/certificates.ts";
import type { PriceInput, RequestedStore } from "./schema.ts";
import type { ChangeEntry } from "./shapes.ts";
import type { Price } from "../checkout/shapes.ts";

export type StoreState = {
  readonly id: string;
  readonly name: string;
  readonly merchant: { readonly id: string; readonly name: string };
  readonly capabilities: readonly Capability[];
  readonly returnOrigins: readonly ReturnOrigin[];
  readonly prices: readonly Price[];
  /** Endpoints with a URL, without the endpoints of `checkout listen`. */
  readonly endpoints: readonly {
    readonly id: string;
    readonly url: string;
    readonly events: readonly string[];
    readonly inOrder: boolean;
    /** Undefined for the sandbox's CAs. */
    readonly ca?: string | undefined;
  }[];
  /** Undefined if the secret cannot be decrypted. */
  readonly signingSecret: string | undefined;
};

/** All stores, the sandbox's first store first, and the known API keys by their hashes. */
export type ConfigState = {
  readonly stores: readonly StoreState[];
  readonly keys: ReadonlyMap<string, { readonly storeId: string; readonly isRevoked: boolean }>;
};

/** The value of a field, as a plan shows it; null if the field has no value. */
type ShownValue = ChangeEntry["differences"][number]["from"];

export type PlannedChange = Omit<ChangeEntry, "kind"> &
  (
    | { readonly kind: "store"; readonly wanted?: RequestedStore }
    | { readonly kind: "price"; readonly wanted?: PriceInput }
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

/** Maximum number of return origins, and of endpoints, of a store. */
const MAX_IN_LIST = 20;
const ALL_EVENTS = ["*"];

/**
 * Plans the changes that make the sandbox match the file (decision 84). Lists that are not in the file stay unchanged.
 * Items that are missing from a list in the file are unmanaged, and removed only with `prune`. Refuses every impossible
 * change, with the field at the start of the message, so that applying the plan refuses nothing.
 */
export function planChanges(
  wantedStores: readonly RequestedStore[],
  state: ConfigState,
  options: PlanOptions,
): Outcome<readonly PlannedChange[]> {
  const [conflict] = [...conflictsIn(wantedStores), ...keyConflicts(wantedStores)];
  if (conflict !== undefined) return conflict;
  const knownStores = new Map(state.stores.map((store) => [store.id, store]));
  const changes: PlannedChange[] = [];
  for (const [at, store] of wantedStores.entries()) {
    const place = { ...options, state, now: knownStores.get(store.id), path: ["stores", at] };
    const check = checkStore(store, place);
    if (!check.ok) return check;
    changes.push(...changesOf(store, place));
  }
  const fileIds = new Set(wantedStores.map(({ id }) => id));
  const extra = wantedStores.length === 0 ? [] : state.stores.filter(({ id }) => !fileIds.has(id));
  const unmanaged = extra.map(({ id, name }) => changeEntry("unmanaged", "store", { storeId: id, name }));
  return accept([...changes, ...unmanaged]);
}

export function priceWithDefaults(price: PriceInput): Price {
  const { description = "", billingModel = "one_time", approved = true, retired = false, ...rest } = price;
  return { ...rest, description, billingModel, approved, retired };
}

/** The context for planning a store in the file: the current state, if the store exists, and the path in the file. */
type PlanContext = PlanOptions & {
  readonly state: ConfigState;
  readonly now: StoreState | undefined;
  readonly path: FieldPath;
};

function changesOf(wantedStore: RequestedStore, place: PlanContext): PlannedChange[] {
  return [
    storeChange(wantedStore, place),
    ...merchantChanges(wantedStore, place),
    ...keyChanges(wantedStore, place),
    ...capabilityChanges(wantedStore, place, "payment_method"),
    ...capabilityChanges(wantedStore, place, "currency"),
    ...priceChanges(wantedStore, place),
    ...originChanges(wantedStore, place),
    ...endpointChanges(wantedStore, place),
  ];
}

function storeChange(wantedStore: RequestedStore, { now }: PlanContext): PlannedChange {
  const { id: storeId, name } = wantedStore;
  if (now === undefined) return { ...changeEntry("add", "store", { storeId, name }), wanted: wantedStore };
  return { ...compareItem("store", { storeId, name }, [["name", now.name, name]]), wanted: wantedStore };
}

/** Renames an existing merchant; the name of a new merchant is set with its first store. */
function merchantChanges({ id: storeId, merchant }: RequestedStore, { state }: PlanContext): PlannedChange[] {
  const now = state.stores.find((store) => store.merchant.id === merchant?.id)?.merchant;
  if (merchant?.name === undefined || now === undefined) return [];
  const subject = { storeId, name: merchant.id };
  return [compareItem("merchant", subject, [["name", now.name, merchant.name]])];
}

function keyChanges({ id: storeId, apiKeys = [] }: RequestedStore, { state }: PlanContext): PlannedChange[] {
  return apiKeys.map((apiKey) => {
    const action = state.keys.has(hashKey(apiKey)) ? "keep" : "add";
    return { ...changeEntry(action, "api_key", { storeId, name: `…${apiKey.slice(-4)}` }), apiKey };
  });
}

/** A capability that is missing from the list is deactivated, not removed, so that it can be activated again. */
function capabilityChanges(
  { id: storeId, capabilities = {} }: RequestedStore,
  { now }: PlanContext,
  kind: "payment_method" | "currency",
): PlannedChange[] {
  const names: readonly string[] | undefined =
    kind === "currency" ? capabilities.currencies : capabilities.paymentMethods;
  if (names === undefined) return [];
  const list = (now?.capabilities ?? []).filter((capability) => capability.kind === kind);
  const addedNames = names.filter((name) => !list.some((capability) => capability.name === name));
  return [
    ...list
      .filter(({ name, active }) => active || names.includes(name))
      .map(({ name, active }) =>
        compareItem(kind, { storeId, name }, [["active", active, names.includes(name)]]),
      ),
    ...addedNames.map((name) => changeEntry("add", kind, { storeId, name })),
  ];
}

function priceChanges({ id: storeId, prices }: RequestedStore, { now, prune }: PlanContext): PlannedChange[] {
  if (prices === undefined) return [];
  const knownPrices = now?.prices ?? [];
  const otherPrices = knownPrices.filter(({ id }) => !prices.some((price) => price.id === id));
  return [
    ...prices.map((wantedPrice): PlannedChange => {
      const subject = { storeId, name: wantedPrice.id };
      const knownPrice = knownPrices.find(({ id }) => id === wantedPrice.id);
      if (knownPrice === undefined) return { ...changeEntry("add", "price", subject), wanted: wantedPrice };
      const completePrice = priceWithDefaults(wantedPrice);
      const change = compareItem("price", subject, [
        ...PRICE_TERMS.map(([field, name]) => [name, knownPrice[field], completePrice[field]] as const),
        ["billing_model", knownPrice.billingModel, completePrice.billingModel],
        ["approved", knownPrice.approved, completePrice.approved],
        ["retired", knownPrice.retired, completePrice.retired],
      ]);
      return { ...change, wanted: wantedPrice };
    }),
    ...otherPrices.map(({ id }) => itemNotInFile("price", { storeId, name: id }, prune)),
  ];
}

function originChanges(
  { id: storeId, returnOrigins }: RequestedStore,
  { now, prune }: PlanContext,
): PlannedChange[] {
  if (returnOrigins === undefined) return [];
  const knownOrigins = now?.returnOrigins ?? [];
  const rest = knownOrigins.filter(({ origin }) => !returnOrigins.some((entry) => entry.origin === origin));
  return [
    ...returnOrigins.map(({ origin: name, path }): PlannedChange => {
      const subject = { storeId, name };
      const knownOrigin = knownOrigins.find(({ origin }) => origin === name);
      if (knownOrigin === undefined) return { ...changeEntry("add", "return_origin", subject), path };
      return { ...compareItem("return_origin", subject, [["path", knownOrigin.path, path]]), path };
    }),
    ...rest.map(({ origin: name, path }) =>
      Object.assign(itemNotInFile("return_origin", { storeId, name }, prune), { path }),
    ),
  ];
}

function endpointChanges(
  { id: storeId, endpoints }: RequestedStore,
  { now, prune }: PlanContext,
): PlannedChange[] {
  if (endpoints === undefined) return [];
  const list = now?.endpoints ?? [];
  const rest = list.filter(({ url }) => !endpoints.some((endpoint) => canonicalUrl(endpoint.url) === url));
  return [
    ...endpoints.map((endpoint): PlannedChange => {
      const subject = { storeId, name: canonicalUrl(endpoint.url) };
      const events = [...new Set(endpoint.events ?? ALL_EVENTS)];
      const before = list.find(({ url }) => url === subject.name);
      const { inOrder = false, ca = null } = endpoint;
      if (before === undefined) return { ...changeEntry("add", "endpoint", subject), events, inOrder, ca };
      const change = compareItem("endpoint", subject, [
        ["events", sortPatterns(before.events), sortPatterns(events)],
        ["in_order", before.inOrder, inOrder],
        ["ca", shownCertificates(before.ca ?? null), shownCertificates(ca)],
      ]);
      return { ...change, endpointId: before.id, events, inOrder, ca };
    }),
    ...rest.map(({ id: endpointId, url, events, inOrder, ca = null }) =>
      Object.assign(itemNotInFile("endpoint", { storeId, name: url }, prune), {
        endpointId,
        events,
        inOrder,
        ca,
      }),
    ),
  ];
}

/** Refuses changes that no plan can make. */
function checkStore(wantedStore: RequestedStore, place: PlanContext): Outcome<void> {
  const { now, state, path } = place;
  const { merchant, signingSecret, apiKeys = [] } = wantedStore;
  if (now !== undefined && merchant !== undefined && merchant.id !== now.merchant.id)
    return atPath([...path, "merchant", "id"], refuseFact("merchant_fixed", { merchant: now.merchant.id }));
  const otherSecret = now?.signingSecret;
  if (now !== undefined && signingSecret !== undefined && otherSecret !== signingSecret) {
    const fact = otherSecret === undefined ? "secret_unreadable" : "secret_fixed";
    return atPath([...path, "signing_secret"], refuseFact(fact, {}));
  }
  for (const [at, apiKey] of apiKeys.entries()) {
    const owner = state.keys.get(hashKey(apiKey));
    if (owner === undefined || (owner.storeId === wantedStore.id && !owner.isRevoked)) continue;
    const refusal = owner.isRevoked
      ? refuseFact("key_revoked", {})
      : refuseFact("key_of_other_store", { store: owner.storeId });
    return atPath([...path, "api_keys", at], refusal);
  }
  return checkLists(wantedStore, place);
}

function checkLists(wantedStore: RequestedStore, { now, path, targets, prune }: PlanContext): Outcome<void> {
  const { returnOrigins = [], endpoints = [], prices = [] } = wantedStore;
  for (const [at, { url, ca }] of endpoints.entries()) {
    const target = parseTarget(url, targets);
    if (!target.ok) return atPath([...path, "endpoints", at, "url"], target);
    const trust = checkTrust(url, ca, targets);
    if (!trust.ok) return atPath([...path, "endpoints", at, "ca"], trust);
  }
  const listsByField = {
    return_origins: [returnOrigins, now?.returnOrigins ?? []].map((list) => list.map(({ origin }) => origin)),
    endpoints: [endpoints, now?.endpoints ?? []].map((items) => items.map(({ url }) => canonicalUrl(url))),
    prices: [prices, now?.prices ?? []].map((items) => items.map(({ id }) => id)),
  };
  for (const [name, [fileIds = [], knownList = []]] of Object.entries(listsByField)) {
    const maximum = name === "prices" ? MAX_PRICES : MAX_IN_LIST;
    const ids = new Set(prune ? fileIds : [...fileIds, ...knownList]);
    if (ids.size <= maximum || ids.size === knownList.length) continue;
    return atPath([...path, name], refuseFact("list_too_long", { most: maximum, count: ids.size }));
  }
  return accept(undefined);
}

/** A key must belong to one store only. */
function keyConflicts(wantedStores: readonly RequestedStore[]): readonly PathRefused[] {
  const allKeys = wantedStores.flatMap(({ apiKeys = [] }, store) =>
    apiKeys.map((apiKey, at): NamedField => [["stores", store, "api_keys", at], apiKey]),
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

function itemNotInFile<Kind extends ChangeEntry["kind"]>(
  kind: Kind,
  subject: ChangeSubject,
  prune: boolean,
): ChangeOfKind<Kind> {
  return changeEntry(prune ? "remove" : "unmanaged", kind, subject);
}

/** A requested item that already exists: kept, or changed in the fields that differ. */
function compareItem<Kind extends ChangeEntry["kind"]>(
  kind: Kind,
  subject: ChangeSubject,
  fields: readonly (readonly [field: string, from: ShownValue, to: ShownValue])[],
): ChangeOfKind<Kind> {
  const differences = fields
    .filter(([, from, to]) => from !== to)
    .map(([field, from, to]) => ({ field, from, to }));
  return { ...changeEntry(differences.length === 0 ? "keep" : "change", kind, subject), differences };
}

function shownCertificates(ca: string | null): string | null {
  return ca === null ? null : describeCertificates(ca);
}

function sortPatterns(events: readonly string[]): string {
  return events.toSorted().join(", ");
}
