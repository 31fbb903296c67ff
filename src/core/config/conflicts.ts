import type { FieldFault, FieldPath } from "./field.ts";
import type { WantedStore } from "./schema.ts";

type Store = Omit<WantedStore, "apiKeys" | "signingSecret">;
type Named = readonly [path: FieldPath, name: string];

/** What each field allows, and the fields together do not: an id that stands for two things. Stores may share a name. */
export function conflictsIn(stores: readonly Store[]): FieldFault[] {
  const inStores = stores.map((store, at) => ({ store, path: ["stores", at] }));
  return [
    ...repeated(inStores.map(({ store, path }) => [[...path, "id"], store.id])),
    ...merchantConflicts(stores),
    ...inStores.flatMap(({ store, path }) => conflictsInStore(store, path)),
  ];
}

function conflictsInStore(store: Store, path: FieldPath): FieldFault[] {
  const { prices = [], capabilities = {}, returnOrigins = [], endpoints = [] } = store;
  const list = (names: readonly string[], ...below: FieldPath): Named[] =>
    names.map((name, at) => [[...path, ...below, at], name]);
  return [
    ...repeated(prices.map(({ id }, at) => [[...path, "prices", at, "id"], id])),
    ...repeated(list(capabilities.paymentMethods ?? [], "capabilities", "payment_methods")),
    ...repeated(list(capabilities.currencies ?? [], "capabilities", "currencies")),
    ...repeated(
      list(
        returnOrigins.map(({ origin }) => origin),
        "return_origins",
      ),
    ),
    ...repeated(endpoints.map(({ url }, at) => [[...path, "endpoints", at, "url"], canonicalUrl(url)])),
  ];
}

/** One merchant has one name. */
function merchantConflicts(stores: readonly Store[]): FieldFault[] {
  const names = new Map<string, string>();
  return stores.flatMap(({ merchant }, at) => {
    if (merchant?.name === undefined) return [];
    const known = names.get(merchant.id) ?? merchant.name;
    names.set(merchant.id, known);
    if (known === merchant.name) return [];
    return [
      { path: ["stores", at, "merchant", "name"], message: "differs from the name of this merchant above" },
    ];
  });
}

function repeated(all: readonly Named[]): FieldFault[] {
  return all
    .filter(([, name], at) => all.findIndex(([, other]) => other === name) < at)
    .map(([path]) => ({ path, message: "stands in this list before; it may stand there once" }));
}

/** An endpoint's address as it is stored. */
export function canonicalUrl(url: string): string {
  return URL.canParse(url) ? new URL(url).href : url;
}
