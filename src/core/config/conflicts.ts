import { isLoopback } from "../loopback.ts";
import { atPath, type FieldPath, type PathRefusal } from "./field.ts";
import { refuseFact } from "../refusals.ts";
import type { RequestedStore } from "./store-fields.ts";
import type { TargetSection } from "./schema.ts";
import { targetVariable } from "./secrets.ts";

type StoreWithoutSecrets = Omit<RequestedStore, "apiKeys" | "signingSecret">;
export type NamedField = readonly [path: FieldPath, name: string];

export function conflictsIn(stores: readonly StoreWithoutSecrets[]): PathRefusal[] {
  const storesWithPaths = stores.map((store, index) => ({ store, path: ["stores", index] }));
  return [
    ...findRepeatedNames(storesWithPaths.map(({ store, path }) => [[...path, "id"], store.id])),
    ...merchantConflicts(stores),
    ...storesWithPaths.flatMap(({ store, path }) => conflictsInStore(store, path)),
  ];
}

function conflictsInStore(store: StoreWithoutSecrets, path: FieldPath): PathRefusal[] {
  const { prices = [], capabilities = {}, returnOrigins = [], endpoints = [] } = store;
  const findRepeated = (list: FieldPath, field: FieldPath, names: readonly string[]): PathRefusal[] =>
    findRepeatedNames(names.map((name, index) => [[...path, ...list, index, ...field], name]));
  const { paymentMethods = [], currencies = [] } = capabilities;
  const priceIds = prices.map(({ id }) => id);
  const origins = returnOrigins.map(({ origin }) => origin);
  const urls = endpoints.map(({ url }) => canonicalUrl(url));
  return [
    ...findRepeated(["prices"], ["id"], priceIds),
    ...findRepeated(["capabilities", "payment_methods"], [], paymentMethods),
    ...findRepeated(["capabilities", "currencies"], [], currencies),
    ...findRepeated(["return_origins"], [], origins),
    ...findRepeated(["endpoints"], ["url"], urls),
  ];
}

/**
 * Finds targets that use plain http to another machine, or share the environment variable of their key (decision 85).
 */
export function targetFaultsIn(targets: Readonly<Record<string, TargetSection>>): PathRefusal[] {
  const namesByVariable = new Map<string, string>();
  return Object.entries(targets).flatMap(([name, { baseUrl }]) => {
    const variable = targetVariable(name);
    const otherName = namesByVariable.get(variable);
    namesByVariable.set(variable, otherName ?? name);
    const { protocol, hostname } = new URL(baseUrl);
    const isSafe = protocol === "https:" || isLoopback(hostname);
    const variableFaults =
      otherName === undefined
        ? []
        : [atPath(["targets", name], refuseFact("shared_variable", { other: otherName, variable }))];
    const faults = isSafe ? [] : [atPath(["targets", name, "base_url"], refuseFact("plain_http_target", {}))];
    return variableFaults.concat(faults);
  });
}

function merchantConflicts(stores: readonly StoreWithoutSecrets[]): PathRefusal[] {
  const namesById = new Map<string, string>();
  return stores.flatMap(({ merchant }, index) => {
    if (merchant?.name === undefined) return [];
    const knownName = namesById.get(merchant.id) ?? merchant.name;
    namesById.set(merchant.id, knownName);
    if (knownName === merchant.name) return [];
    return [atPath(["stores", index, "merchant", "name"], refuseFact("merchant_name_differs", {}))];
  });
}

export function findRepeatedNames(
  fields: readonly NamedField[],
  fact: "repeated_name" | "repeated_key" = "repeated_name",
): PathRefusal[] {
  return fields
    .filter(([, name], index) => fields.findIndex(([, otherName]) => otherName === name) < index)
    .map(([path]) => atPath(path, refuseFact(fact, {})));
}

export function canonicalUrl(url: string): string {
  return URL.canParse(url) ? new URL(url).href : url;
}
